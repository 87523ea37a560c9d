package confirmation

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/spec"
)

// A pod is a member of the first group that selects it.
func TestLabelsOfNamespacesMatterToAllGroupsListedAfterOneThatSelectsThem(t *testing.T) {
	everything := v1alpha1.PodGroup{PodSelector: &v1alpha1.LabelSelector{}}
	cluster := &v1alpha1.ClusterPodSequence{ObjectMeta: metav1.ObjectMeta{Name: "platform"}}
	cluster.Spec.PodGroups = []v1alpha1.ClusterPodGroup{
		{PodGroup: everything, Namespaces: []string{"infra"}},
		{PodGroup: everything, NamespaceSelector: &v1alpha1.LabelSelector{}},
		{PodGroup: everything, Namespaces: []string{"web"}},
	}
	s := spec.Compile(spec.OfCluster(cluster), nil)
	s.Cluster = false // else it matters to all groups whether their namespaces are being deleted
	web := func(int) map[string]struct{} { return map[string]struct{}{"web": {}} }
	namespaces := Subject{Kinds: OfNamespaces}
	assert.NotContains(t, SubjectsOf(s, 0b1, web), namespaces)
	assert.Contains(t, SubjectsOf(s, 0b10, web), namespaces)
	assert.Contains(t, SubjectsOf(s, 0b100, web), namespaces)
}

func TestAnswersOfWideQuestionsAnswerNarrowOnes(t *testing.T) {
	tests := map[string]struct {
		kinds Kinds
		want  Known
	}{
		"about pods":       {OfPods, Known{5, 0, 0, 0}},
		"about DaemonSets": {OfDaemonSets, Known{5, 5, 0, 0}},
		"about workloads":  {OfWorkloads, Known{5, 5, 5, 0}},
		"about Namespaces": {OfNamespaces, Known{0, 0, 0, 5}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var known Known
			assert.True(t, known.Confirm(test.kinds, 5))
			assert.Equal(t, test.want, known)
			assert.False(t, known.Confirm(test.kinds, 5), "it is no news")
			assert.False(t, known.Confirm(test.kinds, 4), "it is no news")
			assert.Equal(t, test.want, known)
		})
	}
}

func TestOneAnswerDoesForAllQuestionsAboutASubject(t *testing.T) {
	questions, subject := Questions{}, Subject{Namespace: "shop", Kinds: OfPods}
	questions.Add(subject, Question{Moment: 3, Version: "20"})
	questions.Add(subject, Question{Moment: 5, Version: "10"})
	assert.Equal(t, Questions{subject: {Moment: 5, Version: "20"}}, questions)
}

func TestAWitnessSpeaksOnceNothingIsMissing(t *testing.T) {
	since := time.Unix(1, 0)
	called := func() *Witness {
		w := &Witness{}
		w.Call(Question{Moment: 5, Version: "12"}, "10", since)
		return w
	}
	t.Run("it waits for the answer", func(t *testing.T) {
		w := called()
		w.Settle(4)
		assert.True(t, w.Waits())
		w.Call(Question{Moment: 6, Version: "13"}, "11", since.Add(time.Second))
		w.Settle(5)
		assert.True(t, w.Confirmed)
		assert.Equal(t, since, w.Since)
		assert.False(t, w.Waits())
	})
	t.Run("a later change does not matter", func(t *testing.T) {
		w := called()
		w.Notice("11", true)
		assert.True(t, w.Waits())
	})
	t.Run("an earlier change was missing", func(t *testing.T) {
		w := called()
		w.Notice("9", true)
		w.Settle(5)
		assert.False(t, w.Confirmed)
	})
	t.Run("when the change happened nobody can say", func(t *testing.T) {
		w := called()
		w.Notice("11", false)
		w.Settle(5)
		assert.False(t, w.Confirmed)
	})
}

func TestAListMattersToQuestionsThatAreAboutItsKind(t *testing.T) {
	list := Question{Moment: 5, Version: "10"}
	for _, tt := range []struct {
		name   string
		listed Kinds
		about  []Kinds
	}{
		{"of pods, to all but those about namespaces", OfPods, []Kinds{OfPods, OfDaemonSets, OfWorkloads}},
		{"of DaemonSets, not to those about pods only", OfDaemonSets, []Kinds{OfDaemonSets, OfWorkloads}},
		{"of other workloads, not to those of scope Node", OfWorkloads, []Kinds{OfWorkloads}},
		{"of namespaces, to no others", OfNamespaces, []Kinds{OfNamespaces}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var relisted Relisted
			relisted.Add(tt.listed, list)
			for kinds := range OfNamespaces + 1 {
				last := relisted.Of([]Subject{{Namespace: "shop", Kinds: kinds}})
				assert.Equal(t, slices.Contains(tt.about, kinds), last == list, "kinds %d", kinds)
			}
		})
	}
}
