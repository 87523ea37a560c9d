package check

import (
	"fmt"
	"strings"
	"time"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/tools/podseqctl/snapshot"
)

const (
	// mostListed is how many sequences that need somebody are named. One screen must do.
	mostListed = 5
	// answerTime is how long the controller may take to write the status of a changed sequence.
	answerTime = time.Minute
)

// endsState returns what ends what is special about a sequence.
func endsState(state string) string {
	switch {
	case strings.Contains(state, v1alpha1.ConditionSuspended):
		return "kubectl podseq resume NAME, when they may continue"
	case strings.Contains(state, v1alpha1.ConditionDryRun):
		return "set spec.dryRun to false to enforce the order"
	}
	return "kubectl podseq get NAME says why and until when; kubectl podseq unskip NAME GROUP ends it"
}

// in says where something was looked for.
func in(namespace string) string {
	if namespace == "" {
		return ""
	}
	return " in namespace " + namespace
}

// editedAt returns when somebody last wrote more of the sequence than its status.
func editedAt(s *snapshot.Sequence) time.Time {
	at := s.Object.GetCreationTimestamp().Time
	for _, entry := range s.Object.GetManagedFields() {
		if entry.Subresource == "" && entry.Time != nil && entry.Time.After(at) {
			at = entry.Time.Time
		}
	}
	return at
}

// whySequence returns the command that explains a sequence.
func whySequence(s *snapshot.Sequence) string {
	if s.IsCluster() {
		return "kubectl podseq why " + s.Argument()
	}
	return fmt.Sprintf("kubectl podseq why podsequence/%s -n %s", s.Key().Name, s.Key().Namespace)
}
