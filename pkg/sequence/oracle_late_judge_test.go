package sequence

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// What an engine that is told late may say: what the cluster, as it really was, said at some time, and what answers allow, at a time
// since their questions.

// note remembers what the cluster releases as it is now.
func (l *lateness) note() {
	o := l.truth.oracle
	for _, p := range o.pods {
		if l.went[p.UID] == nil {
			l.went[p.UID] = map[string]int{}
		}
		if !o.held(p) { // also of one that is bound: the engine may not know
			l.went[p.UID][""] = l.serial
		}
		for _, node := range o.nodes {
			if o.mayPlace(p, node.Name) {
				l.went[p.UID][node.Name] = l.serial
			}
		}
	}
	for _, v := range o.views {
		if course := v.courses[""]; course != nil && v.Spec.Scope != v1alpha1.ScopeNode {
			if l.ahead[v.UID] == nil {
				l.ahead[v.UID] = sets.New[string]()
			}
			for i, definition := range v.definitions {
				if course.passed[i] {
					l.ahead[v.UID].Insert(definition)
				}
			}
		}
	}
}

// take takes what the engine says after an event.
func (l *lateness) take(changes Changes) error { return l.takeSince(0, changes) }

// takeSince takes what the engine says after an answer to questions of versions since this one: what may go now, and might not before,
// could go at such a version.
func (l *lateness) takeSince(version int, changes Changes) error {
	if err := checkPublished(l.engine); err != nil {
		return err
	}
	for subject, question := range changes.Questions {
		l.seen["questions"]++
		l.questions.Add(subject, question)
		asOf, err := strconv.Atoi(question.Version)
		if err != nil {
			asOf = 0
		}
		if oldest, ok := l.oldest[subject]; !ok || asOf < oldest {
			l.oldest[subject] = asOf
		}
	}
	for _, r := range changes.Released {
		if p := l.pods[r.UID]; p != nil && l.engine.Decide(p).Held {
			return fmt.Errorf("%s is released and must wait", p.Name)
		}
	}
	for _, there := range l.truth.oracle.pods {
		p := l.pods[there.UID]
		if p == nil || p.Spec.NodeName != "" || p.DeletionTimestamp != nil || l.engine.Decide(p).Held {
			delete(l.goes, there.UID)
			continue
		}
		if l.goes[p.UID] == nil {
			l.goes[p.UID] = sets.New[string]()
		}
		could := func(node string) bool {
			last, ok := l.went[p.UID][node]
			if l.goes[p.UID].Has(node) {
				return ok
			}
			l.goes[p.UID].Insert(node)
			return ok && last >= version
		}
		if l.isRequirementLate(p) {
			l.seen["pods that went before it was known that their namespace requires a sequence"]++
			continue
		}
		if l.isNamespaceLate(p) {
			continue // it is of other groups than the engine knows, since it was created or later
		}
		if l.engine.FirstSeen(p).AsksNamespaces && l.isConsentLate(p) {
			l.seen["pods that went before consent was known, but for the feed"]++
			continue
		}
		l.seen["pods that went"]++
		placement := l.engine.Placement(p)
		if placement == nil && !could("") {
			return fmt.Errorf("%s may go, and could not since %d", p.Name, version)
		}
		if placement == nil || p.Spec.SchedulerName != oracleScheduler {
			continue
		}
		// That it waits no more may only mean that no node is on the way: it is the nodes that must be right.
		for node := range l.truth.oracle.objects["Node"] {
			if placement.Open(node).Held {
				l.goes[p.UID].Delete(node)
			} else if !could(node) {
				return fmt.Errorf("%s may go to %s, and could not since %d", p.Name, node, version)
			}
		}
	}
	for name, v := range l.truth.oracle.views {
		report, _ := l.engine.Report(types.NamespacedName{Namespace: v.Namespace, Name: name})
		if v.Spec.Scope == v1alpha1.ScopeNode || report.UID != v.UID || report.Generation != v.Generation {
			continue
		}
		for i, g := range report.Groups {
			if g.Passed && !l.ahead[v.UID].Has(v.definitions[i]) {
				return fmt.Errorf("%s has passed group %d, and never did", name, i)
			}
		}
	}
	return nil
}

// finish tells the engine of all that is left, and sees that nothing waits that need not.
func (l *lateness) finish() error {
	for _, kind := range append([]string{"Namespace"}, lateKinds...) {
		if err := l.tell(kind, len(l.coming[kind])); err != nil {
			return err
		}
	}
	for range 20 {
		if err := l.answer(); err != nil {
			return err
		}
	}
	if len(l.questions) > 0 {
		return fmt.Errorf("there are questions left after everything was told: %v", l.questions)
	}
	for name, v := range l.truth.oracle.views {
		if v.Spec.Scope == v1alpha1.ScopeNode {
			continue
		}
		course := v.courses[""]
		report, _ := l.engine.Report(types.NamespacedName{Namespace: v.Namespace, Name: name})
		switch {
		case report.Confirming():
			return fmt.Errorf("%s is unsettled after every answer", name)
		case v.Spec.EnforcementMode == v1alpha1.Continuous && report.Current != course.current:
			return fmt.Errorf("%s ends at group %d, want %d", name, report.Current, course.current)
		}
		for i, g := range report.Groups {
			if g.Current && course.groups[i].satisfied {
				return fmt.Errorf("%s ends at group %d, which is satisfied", name, i)
			}
		}
	}
	return nil
}
