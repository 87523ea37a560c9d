package podseqctl

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.com/podsequence/tools/podseqctl/explain"
	"example.com/podsequence/tools/podseqctl/lint"
	"example.com/podsequence/tools/podseqctl/snapshot"
)

// deadlocks ends an explanation with what lint finds about the groups and workloads in it: what never ends by itself, although each pod
// for itself seems to wait for another only.
func deadlocks(reason *explain.Reason, world *snapshot.Snapshot, namespace string) {
	if reason.State == explain.Done {
		return
	}
	said := textOf(reason)
	for _, f := range lint.World(world, lint.Options{Namespace: namespace}).Sort() {
		isSaid := strings.Contains(said, f.Message) || f.IsCircle() && strings.Contains(said, explain.Deadlock)
		if f.Severity == lint.Error && !isSaid && isAbout(f, said, world) {
			reason.Because = append(reason.Because, explain.Reason{Subject: "lint: " + f.Object, State: explain.Stuck, Message: f.Message})
		}
	}
}

// isAbout reports whether a finding is about a sequence that an explanation names and, if it is about groups of that, about one of those in
// the explanation.
func isAbout(f lint.Finding, said string, world *snapshot.Snapshot) bool {
	found := f.Object + "\n" + f.Message
	return slices.ContainsFunc(world.Sequences, func(s *snapshot.Sequence) bool {
		if !names(found, s.String()) || !names(said, s.String()) {
			return false
		}
		ofGroup := false
		for i := range s.Spec.PodGroups {
			if names(found, s.Where(i)) {
				ofGroup = true
				if names(said, s.Where(i)+" of "+s.String()) {
					return true
				}
			}
		}
		return !ofGroup
	})
}

// names reports whether a text has a name that is not a part of a longer one.
func names(text, name string) bool {
	isPart := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '.' || r == '/'
	}
	for at := 0; ; {
		next := strings.Index(text[at:], name)
		if next < 0 {
			return false
		}
		begin, end := at+next, at+next+len(name)
		before, _ := utf8.DecodeLastRuneInString(text[:begin])
		after, _ := utf8.DecodeRuneInString(text[end:])
		if !isPart(before) && !isPart(after) {
			return true
		}
		at = end
	}
}

// textOf returns all that an explanation says.
func textOf(r *explain.Reason) string {
	var all strings.Builder
	all.WriteString(r.Subject + ": " + r.Message + "\n")
	for i := range r.Because {
		all.WriteString(textOf(&r.Because[i]))
	}
	return all.String()
}
