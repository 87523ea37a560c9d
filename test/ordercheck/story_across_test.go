package ordercheck

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

type acrossFix func(*v1alpha1.ClusterPodSequence)

// across makes a ClusterPodSequence.
func across(name string, fixes ...acrossFix) step {
	return func(s *story) {
		sequence := &v1alpha1.ClusterPodSequence{ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID(fmt.Sprintf("%s-%d", name, s.next)), Generation: 1, CreationTimestamp: s.whole(),
		}}
		for _, fix := range fixes {
			fix(sequence)
		}
		s.across[name] = sequence
		s.changed(factsOfClusterSequence(sequence.DeepCopy()), false)
	}
}

// reacross gives a ClusterPodSequence another spec.
func reacross(name string, fixes ...acrossFix) step {
	return func(s *story) {
		sequence := s.across[name]
		sequence.Spec = v1alpha1.ClusterPodSequenceSpec{}
		sequence.Generation++
		for _, fix := range fixes {
			fix(sequence)
		}
		s.changed(factsOfClusterSequence(sequence.DeepCopy()), false)
	}
}

// with sets what both kinds say of the whole.
func with(fix sequenceFix) acrossFix {
	return func(c *v1alpha1.ClusterPodSequence) {
		s := &v1alpha1.PodSequence{}
		fix(s)
		c.Spec.Scope, c.Spec.EnforcementMode = s.Spec.Scope, s.Spec.EnforcementMode
		c.Spec.Suspend, c.Spec.DryRun = s.Spec.Suspend, s.Spec.DryRun
	}
}

func placed(fix sequenceFix, where func(*v1alpha1.ClusterPodGroup)) acrossFix {
	return func(c *v1alpha1.ClusterPodSequence) {
		s := &v1alpha1.PodSequence{}
		fix(s)
		for _, group := range s.Spec.PodGroups {
			placed := v1alpha1.ClusterPodGroup{PodGroup: group}
			where(&placed)
			c.Spec.PodGroups = append(c.Spec.PodGroups, placed)
		}
	}
}

// in places the groups in namespaces by name.
func in(fix sequenceFix, namespaces ...string) acrossFix {
	return placed(fix, func(g *v1alpha1.ClusterPodGroup) { g.Namespaces = namespaces })
}

// inLabelled places the groups in namespaces by one label.
func inLabelled(fix sequenceFix, key string, value v1alpha1.LabelValue) acrossFix {
	return placed(fix, func(g *v1alpha1.ClusterPodGroup) {
		g.NamespaceSelector = &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{key: value}}
	})
}

// everywhere places the groups in all namespaces.
func everywhere(fix sequenceFix) acrossFix {
	return placed(fix, func(g *v1alpha1.ClusterPodGroup) { g.NamespaceSelector = &v1alpha1.LabelSelector{} })
}

// namespaceWith creates a namespace with labels, or relabels it.
func namespaceWith(name string, keysAndValues ...string) step {
	labels := map[string]string{}
	for i := 0; i < len(keysAndValues); i += 2 {
		labels[keysAndValues[i]] = keysAndValues[i+1]
	}
	return func(s *story) {
		s.changed(factsOfNamespace(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}), false)
	}
}

// inside runs steps with another namespace as the one that they create objects in.
func inside(namespace string, steps ...step) step {
	return func(s *story) {
		before := s.namespace
		s.namespace = namespace
		for _, step := range steps {
			step(s)
		}
		s.namespace = before
	}
}

// vertex is a group of the one pod of its name that waits for groups by their names.
func vertex(name string, after []string, fixes ...func(*v1alpha1.PodGroup)) sequenceFix {
	g := v1alpha1.PodGroup{Name: name, Pods: []string{name}, DependsOn: after}
	for _, fix := range fixes {
		fix(&g)
	}
	return group(g)
}

// after are the names that a group depends on.
func after(names ...string) []string { return append([]string{}, names...) }

func skipped(g *v1alpha1.PodGroup) { g.Skip = true }

func expecting(pods int32) func(*v1alpha1.PodGroup) {
	return func(g *v1alpha1.PodGroup) { g.ExpectedPods = pods }
}

func dryRunning(s *v1alpha1.PodSequence) { s.Spec.DryRun = true }
