package judge

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// waitingForQueue makes the first group wait for a Service, and onlyForQueue for nothing else.
func waitingForQueue(ps *v1alpha1.PodSequence) {
	ps.Spec.PodGroups[0].Objects = []v1alpha1.ObjectReference{{APIVersion: "v1", Kind: "Service", Name: "queue", Until: v1alpha1.UntilExists}}
}

func onlyForQueue(ps *v1alpha1.PodSequence) {
	waitingForQueue(ps)
	ps.Spec.PodGroups[0].PodSelector = nil
}

func service(name string) thing {
	return with(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: shop, Name: name}})
}

func TestWhatMustBeSoOnceObjectsAreThere(t *testing.T) {
	appWaits := []string{"pod w-shop/app (UID uid) has no node, but all groups are ready that it waits for, in 1 sequences, and node n1 takes it"}
	world := func(things ...thing) []thing {
		return append(things, node("n1"), pod("db", "db", ready), pod("app", "app"))
	}
	for sentence, tc := range map[string]struct {
		things []thing
		want   []string
	}{
		"a pod waits for an object":                {world(order(waitingForQueue)), nil},
		"for no other":                             {world(order(waitingForQueue), service("other")), nil},
		"until it is there":                        {world(order(waitingForQueue), service("queue")), appWaits},
		"a group may have nothing else":            {world(order(onlyForQueue)), nil},
		"and is ready with it":                     {world(order(onlyForQueue), service("queue")), appWaits},
		"so it is on nodes":                        {world(order(onlyForQueue, onNodes)), nil},
		"on all of them":                           {world(order(onlyForQueue, onNodes), service("queue")), appWaits},
		"members are waited for beside the object": {[]thing{order(waitingForQueue), service("queue"), node("n1"), deployment(2, 1), pod("db", "db", ready), pod("app", "app")}, nil},
	} {
		t.Run(sentence, func(t *testing.T) { assert.Equal(t, tc.want, broken(t, tc.things...)) })
	}
}
