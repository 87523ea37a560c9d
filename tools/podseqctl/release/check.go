package release

import (
	"errors"
	"fmt"
	"time"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/tools/holds"
)

// How long, and how often, the API server is asked whether its policies hold new pods.
const (
	admissionPatience = 5 * time.Second
	admissionInterval = 250 * time.Millisecond
)

// optInLabel is on namespaces whose new pods an admission policy gives to podsequence-scheduler.
const (
	optInLabel = "podsequence.example.com/scheduling"
	optIn      = "enabled"
)

func heldAgain(w holds.Workload, again holds.Hold, kept bool) error {
	if kept {
		return fmt.Errorf("new pods of %s would get %s again, because of the label %s, which cannot be removed: the selector of %s needs "+
			"it. Nothing was changed. Create %s again without the label in its selector", w, again, v1alpha1.SequenceLabel, w, w)
	}
	return fmt.Errorf("new pods of %s would get %s again: an admission policy or a webhook adds it. Nothing was changed. "+
		"Find it, and remove it first: kubectl get mutatingadmissionpolicies,mutatingwebhookconfigurations", w, again)
}

// errTemplate says that the API server refuses the change of the template.
var errTemplate = errors.New("the API server refuses the change")
