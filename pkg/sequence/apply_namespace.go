package sequence

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/spec"
)

// replaceNamespaces enters all namespaces that there are.
func (k *knowledge) replaceNamespaces(objects []*corev1.Namespace, tx *transaction) {
	present := make(map[string]struct{}, len(objects))
	for _, object := range objects {
		present[object.Name] = struct{}{}
		k.applyNamespace(object, tx)
	}
	for name := range k.consents.facts {
		if _, ok := present[name]; !ok {
			k.removeNamespace(name, tx)
		}
	}
}

func (k *knowledge) applyNamespace(object *corev1.Namespace, tx *transaction) {
	before, known := k.consents.facts[object.Name]
	if known && !inventory.Newer(object.ResourceVersion, before.version) {
		return
	}
	text := object.Annotations[v1alpha1.AllowSequencesFromAnnotation]
	going := object.DeletionTimestamp != nil
	k.consents.facts[object.Name] = namespaceFacts{text, object.Labels, object.ResourceVersion, going}
	if k.published.existing.setNamespace(object.Name, spec.RequiresSequence(object.Annotations)) {
		k.markUnselectedDirty(object.Name, tx)
	}
	if before.going != going {
		k.workloads.setNamespaceGoing(object.Name, going, tx)
	}
	if !known || before.text != text {
		k.recheckConsents(object.Name, tx)
	}
	if !known || !maps.Equal(before.labels, object.Labels) {
		k.updateGroupsIn(object.Name, tx)
	}
}

func (k *knowledge) removeNamespace(namespace string, tx *transaction) {
	if k.consents.facts[namespace].going {
		k.workloads.setNamespaceGoing(namespace, false, tx)
	}
	delete(k.consents.facts, namespace)
	if k.published.existing.requires(namespace) {
		k.markUnselectedDirty(namespace, tx)
	}
	k.published.existing.namespaces.Delete(namespace)
	k.recheckConsents(namespace, tx)
	k.updateGroupsIn(namespace, tx)
}

// recheckConsents looks anew at the sequences that point to a namespace.
func (k *knowledge) recheckConsents(namespace string, tx *transaction) {
	var changed []*sequence
	for _, s := range k.sequences {
		if s.Namespace == namespace && s.refusal != k.consents.refusal(s.Sequence) {
			changed = append(changed, s)
		}
	}
	for _, s := range changed {
		next := newSequence(s.Sequence, s.stored())
		k.consents.checkConsent(next, s, k.now)
		k.replaceSequence(s, next, tx)
	}
}

// updateGroupsIn updates, for the sequences that select namespaces, which of their groups have members in a namespace that was created,
// was deleted, or changed its labels.
func (k *knowledge) updateGroupsIn(name string, tx *transaction) {
	for _, s := range k.sequences {
		if !s.SelectsNamespaces() {
			continue
		}
		if groups := k.consents.groupsIn(s, name); groups != s.groupsByNamespace[name] {
			k.changeGroupsIn(s, name, groups, tx)
			s.reviewFailures(tx)
		}
	}
}

// changeGroupsIn changes which groups of a sequence have members in a namespace.
func (k *knowledge) changeGroupsIn(s *sequence, name string, groups spec.GroupSet, tx *transaction) {
	before := s.groupsByNamespace[name]
	s.outOfOrder.from = k.now.Truncate(time.Second)
	s.outOfOrder.checks = false // of namespaces that it comes to reach later it checks no pods
	affected := map[*pod]struct{}{}
	if before != 0 {
		k.removeMembers(s, name, affected, tx)
	}
	if groups != 0 {
		k.addMembers(s, name, groups, affected, tx)
	}
	s.changedAs = inventory.Newest(s.changedAs, tx.version)
	s.markGroupsIn(before, groups, tx)
	for p := range affected {
		k.reviewStart(p, []membership{{sequence: s}}, false)
		k.review(p, tx)
	}
	k.forgetIfEmpty(name)
}
