package sequence

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/order"
)

// namespaces are those that have pods or that sequences reach, by name.
type namespaces map[string]*namespace

// namespace holds the pods of one namespace and the sequences that reach it.
type namespace struct {
	pods map[string]*pod
	// strays are the pods that name a PodSequence of the namespace and are none of its members, by the name, whether it exists or not.
	strays map[string]map[*pod]struct{}
	// sequences are all of them, also those that have no members, with the groups that may have some here. matchCost is what it
	// costs to match a pod with them.
	sequences map[*sequence]order.GroupSet
	matchCost int
}

// consents knows which namespaces there are, whom each lets hold its pods, and its labels.
type consents struct {
	// facts are of all namespaces that there are.
	facts map[string]namespaceFacts
}

// namespaceFacts are the annotation of a namespace that lists whom it allows, empty for one without, its UID, and its labels, in a
// version of the namespace.
type namespaceFacts struct {
	text    string
	labels  map[string]string
	version string
	// going reports that the namespace is being deleted, and with it, one after the other, all that is in it.
	going bool
}

// place works out the pod's memberships from its name and labels.
func (n *namespace) place(p *pod) (memberships []membership) {
	for s, groups := range n.sequences {
		if m, ok := s.place(p, groups); ok {
			memberships = append(memberships, m)
		}
	}
	return memberships
}

// reviewStray enters the pod among the stray pods of its namespace, or takes it out.
func (n *namespace) reviewStray(p *pod, tx *transaction) {
	name := order.NamedSequence(&p.Labels)
	if name == "" {
		return
	}
	_, was := n.strays[name][p]
	switch is := p.isStray(name); {
	case is:
		insert(n.strays, name, p)
	case was:
		remove(n.strays, name, p)
	default:
		return
	}
	tx.noteStray(types.NamespacedName{Namespace: p.Namespace, Name: name})
}

// forgetStray takes the pod out before its labels change, or when it is gone.
func (n *namespace) forgetStray(p *pod, tx *transaction) {
	if len(n.strays) == 0 {
		return
	}
	name := order.NamedSequence(&p.Labels)
	if _, was := n.strays[name][p]; was {
		remove(n.strays, name, p)
		tx.noteStray(types.NamespacedName{Namespace: p.Namespace, Name: name})
	}
}

// pods are the pods of a namespace by name.
func (all namespaces) pods(namespace string) map[string]*pod {
	if ns := all[namespace]; ns != nil {
		return ns.pods
	}
	return nil
}

func (all namespaces) ensure(name string) *namespace {
	ns := all[name]
	if ns == nil {
		ns = &namespace{
			pods:      map[string]*pod{},
			strays:    map[string]map[*pod]struct{}{},
			sequences: map[*sequence]order.GroupSet{},
		}
		all[name] = ns
	}
	return ns
}

// enter makes the sequence known to a namespace. Pods and workloads come later.
func (all namespaces) enter(s *sequence, name string, groups order.GroupSet, tx *transaction) {
	ns := all.ensure(name)
	s.groupsByNamespace[name], ns.sequences[s] = groups, groups
	ns.matchCost += s.MatchCost()
	tx.namespaces = append(tx.namespaces, name)
}

// leave undoes enter.
func (all namespaces) leave(s *sequence, name string, tx *transaction) {
	ns := all[name]
	delete(s.groupsByNamespace, name)
	delete(ns.sequences, s)
	ns.matchCost -= s.MatchCost()
	tx.namespaces = append(tx.namespaces, name)
}

// A PodSequence holds the pods of another namespace only while that namespace allows it. Without consent the sequence is
// known, for its report, but it has no members: it holds nothing, releases nothing and takes nothing for ready. Consent that
// comes later counts as if the sequence had been made then, except that passes which status records still hold. Consent that is withdrawn
// counts as if the sequence was gone.

// refusal says why the target namespace of a sequence does not allow it; empty if it does.
func (c *consents) refusal(s *order.Sequence) string {
	list, exists := c.facts[s.Namespace]
	return s.Refusal(list.text, exists)
}

// checkConsent asks the target namespace of a new sequence whether it allows it. old is what the sequence takes the place of; nil
// if there is none.
func (c *consents) checkConsent(s, old *sequence, now time.Time) {
	s.refusal = c.refusal(s.Sequence)
	before, known := refusedByStatus(s), old != nil && old.UID == s.UID
	if known {
		before, s.allowedAt = old.refused(), old.allowedAt
	}
	if before && !s.refused() {
		s.allowedAt = now.Truncate(time.Second)
	}
	s.created = latest(s.created, s.allowedAt)
}

// refusedByStatus reports whether the sequence was not allowed when its status was last written.
func refusedByStatus(s *sequence) bool {
	c := meta.FindStatusCondition(s.object.Status.Conditions, v1alpha1.ConditionDegraded)
	return c != nil && c.Status == metav1.ConditionTrue && c.Reason == v1alpha1.ReasonNamespaceNotAllowed
}

// A sequence reaches a namespace if some of its groups may have members there. A PodSequence reaches its target namespace, with
// all its groups. A ClusterPodSequence reaches the namespaces that its groups name, whether they exist or not, and those whose
// labels its groups select, as far as the engine knows of them. What happens in a namespace that a sequence does not reach costs
// that sequence nothing.

// groupsOf returns the groups of the sequence that may have members, by namespace, as far as the engine knows of namespaces.
func (c *consents) groupsOf(s *sequence) map[string]order.GroupSet {
	all := map[string]order.GroupSet{}
	add := func(name string) {
		if groups := c.groupsIn(s, name); groups != 0 {
			all[name] = groups
		}
	}
	for name := range s.NamedNamespaces() {
		add(name)
	}
	if s.SelectsNamespaces() {
		for name := range c.facts {
			add(name)
		}
	}
	return all
}

// groupsIn returns the groups of the sequence that may have members in a namespace.
func (c *consents) groupsIn(s *sequence, name string) order.GroupSet {
	facts, exists := c.facts[name]
	return s.GroupsIn(name, facts.labels, exists)
}

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
	if k.published.existing.setNamespace(object.Name, order.RequiresSequence(object.Annotations)) {
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
			s.failures.review(tx)
		}
	}
}

// changeGroupsIn changes which groups of a sequence have members in a namespace.
func (k *knowledge) changeGroupsIn(s *sequence, name string, groups order.GroupSet, tx *transaction) {
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
		reviewStart(p, []membership{{sequence: s}}, false)
		k.review(p, tx)
	}
	k.forgetIfEmpty(name)
}
