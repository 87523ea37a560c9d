package ordercheck

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

var (
	certificate = v1alpha1.ObjectReference{APIVersion: "cert-manager.io/v1", Kind: "Certificate", Name: "web"}
	settings    = v1alpha1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Name: "settings", Until: v1alpha1.UntilExists}
)

func waitsFor(objects ...v1alpha1.ObjectReference) func(*v1alpha1.PodGroup) {
	return func(g *v1alpha1.PodGroup) { g.Objects = objects }
}

// aloneFor is a group without members.
func aloneFor(objects ...v1alpha1.ObjectReference) sequenceFix {
	return group(v1alpha1.PodGroup{Name: "objects", Objects: objects})
}

// record makes the controller write what it saw of an object.
func record(sequence string, of v1alpha1.ObjectReference, state v1alpha1.ObjectState) step {
	return func(s *story) {
		since := s.whole()
		recordSince(sequence, of, state, &since)(s)
	}
}

func recordSince(sequence string, of v1alpha1.ObjectReference, state v1alpha1.ObjectState, since *metav1.Time) step {
	return func(s *story) {
		ps := s.sequences[sequence]
		if len(ps.Status.Groups) == 0 {
			ps.Status.Groups = []v1alpha1.GroupStatus{{}}
		}
		status := v1alpha1.ObjectStatus{APIVersion: of.APIVersion, Kind: of.Kind, Name: of.Name, Until: plain(of).Until, State: state}
		if state == v1alpha1.ObjectSatisfied {
			status.Since = since
		}
		objects := []v1alpha1.ObjectStatus{status}
		for _, old := range ps.Status.Groups[0].Objects {
			if old.Kind != of.Kind {
				objects = append(objects, old)
			}
		}
		ps.Status.Groups[0].Objects = objects
		s.sequenceChanged(ps, false)
	}
}

func TestJudgeWaitsForTheRecordOfObjects(t *testing.T) {
	alone := order("s", aloneFor(certificate, settings), named("app"))
	both := order("s", tier("db", waitsFor(certificate)), named("app"))
	db := several(create("db", labelled("tier", "db")), ready("db"))
	app := several(create("app"), bind("app"))
	early := []string{"shop/app"}
	inTime := func(o v1alpha1.ObjectReference) step { return record("s", o, v1alpha1.ObjectSatisfied) }
	checkAll(t, map[string]judgement{
		"nothing is recorded":  {steps: []step{alone, app}, wantEarly: early, wantBindings: 1},
		"one of two is":        {steps: []step{alone, inTime(certificate), app}, wantEarly: early, wantBindings: 1},
		"both are":             {steps: []step{alone, inTime(certificate), inTime(settings), app}, wantBindings: 1},
		"one is missing":       {steps: []step{alone, inTime(certificate), record("s", settings, v1alpha1.ObjectNotFound), app}, wantEarly: early, wantBindings: 1},
		"another until is":     {steps: []step{order("s", aloneFor(settings), named("app")), inTime(v1alpha1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Name: "settings"}), app}, wantEarly: early, wantBindings: 1},
		"members are missing":  {steps: []step{both, inTime(certificate), app}, wantEarly: early, wantBindings: 1},
		"the object is":        {steps: []step{both, db, app}, wantEarly: early, wantBindings: 1},
		"neither is":           {steps: []step{both, db, inTime(certificate), app}, wantBindings: 1},
		"it was, and is not":   {steps: []step{both, inTime(certificate), record("s", certificate, v1alpha1.ObjectWaiting), db, app}, wantEarly: early, wantBindings: 1},
		"it passed, and broke": {steps: []step{both, inTime(certificate), db, record("s", certificate, v1alpha1.ObjectWaiting), app}, wantBindings: 1},
		"continuously it broke long ago": {
			steps:     []step{order("s", continuously, aloneFor(settings), named("app")), inTime(settings), record("s", settings, v1alpha1.ObjectWaiting), passing(4 * time.Second), app},
			wantEarly: early, wantBindings: 1,
		},
		"continuously it broke just now": {
			steps:        []step{order("s", continuously, aloneFor(settings), named("app")), inTime(settings), record("s", settings, v1alpha1.ObjectWaiting), app},
			wantBindings: 1,
		},
		"an edit asks for another": {
			steps:     []step{alone, inTime(certificate), inTime(settings), reorder("s", aloneFor(certificate), named("app"), named("web")), create("web"), bind("web")},
			wantEarly: []string{"shop/web"}, wantBindings: 1,
		},
	})
}

func TestJudgeCountsAWaitFromTheRecordOfAnObject(t *testing.T) {
	shop := order("s", continuously, group(v1alpha1.PodGroup{Objects: []v1alpha1.ObjectReference{settings}, WaitDuration: "10s"}), named("app"))
	is := record("s", settings, v1alpha1.ObjectSatisfied)
	app := several(create("app"), bind("app"))
	early := []string{"shop/app"}
	future := metav1.NewTime(storyBegin.Add(time.Hour))
	checkAll(t, map[string]judgement{
		"it is not over":                       {steps: []step{shop, is, passing(8 * time.Second), app}, wantEarly: early, wantBindings: 1},
		"it is over":                           {steps: []step{shop, is, passing(12 * time.Second), app}, wantBindings: 1},
		"it began anew after a break unseen":   {steps: []step{shop, is, passing(8 * time.Second), is, passing(5 * time.Second), app}, wantEarly: early, wantBindings: 1},
		"a time in the future counts as now":   {steps: []step{shop, recordSince("s", settings, v1alpha1.ObjectSatisfied, &future), passing(12 * time.Second), app}, wantBindings: 1},
		"a time that is missing counts as now": {steps: []step{shop, passing(12 * time.Second), recordSince("s", settings, v1alpha1.ObjectSatisfied, nil), app}, wantEarly: early, wantBindings: 1},
	})
}
