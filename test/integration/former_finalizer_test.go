package integration

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/test/harness/slow"
)

// migrated is a sequence as the Pod Sequence Controller leaves it.
func (s *story) migrated(name string) *SequenceWrapper {
	sequence := s.threeTiers()
	sequence.Name, sequence.Finalizers = name, []string{"example.com/other", v1alpha1.FormerFinalizer}
	return sequence
}

// finalizersOf returns those of a sequence of the story.
func (s *story) finalizersOf(name string) []string { return s.getSequence(name).Finalizers }

// The Pod Sequence Controller, whose API this was, put a finalizer on every PodSequence.
func TestPodSequencesOfTheFormerControllerCanBeDeleted(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	others := []string{"example.com/other"}
	s.Create(s.migrated("migrated").Obj())
	s.Await("the finalizer to be removed", func() bool { return len(s.finalizersOf("migrated")) == 1 })
	assert.Equal(t, others, s.finalizersOf("migrated"), "others are none of our business")

	s.Patch(s.getSequence("migrated"), map[string]any{"metadata": map[string]any{"finalizers": []string{v1alpha1.FormerFinalizer}}})
	s.Delete(s.getSequence("migrated"))
	s.AwaitGone(s.migrated("migrated").Obj())
}

func TestANamespaceWithPodSequencesOfTheFormerControllerCanBeDeleted(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	ns := cluster.NewNamespace(t, s.Cluster)
	sequence := s.migrated("migrated").Obj()
	sequence.Namespace, sequence.Finalizers = ns.Name, []string{v1alpha1.FormerFinalizer}
	s.Create(sequence)
	s.Delete(ns)
	s.AwaitGone(ns)
}
