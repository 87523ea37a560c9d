package podseqctl

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"example.com/podsequence/tools/podseqctl/snapshot"
	"example.com/podsequence/tools/podseqctl/text"
)

// maxSuggested is how many names an error lists.
const maxSuggested = 10

// needName refuses a command line without exactly one argument, the name of a sequence, and says which sequences there are.
func (t *tool) needName(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return t.nameMissing(cmd)
	}
	return atMost(1, cmd, args)
}

// needGroup refuses a command line without exactly two arguments, the name of a sequence and a group, and says which there are.
func (t *tool) needGroup(cmd *cobra.Command, args []string) error {
	switch len(args) {
	case 0:
		return t.nameMissing(cmd)
	case 1:
		s, err := t.find(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		return fmt.Errorf("no group was given: %s has %s", s, groupsOf(s))
	}
	return atMost(2, cmd, args)
}

// needSubject refuses a command line without exactly one argument, what is to be explained, and says which pods wait.
func (t *tool) needSubject(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return atMost(1, cmd, args)
	}
	said := "no pod, workload or sequence was given: usage: kubectl podseq " + cmd.Use
	pods, _ := t.completion().pods(cmd, nil, "")
	if len(pods) > 0 {
		said += "; pods without a node: " + text.Names(pods, maxSuggested)
	}
	return errors.New(said)
}

func (t *tool) nameMissing(cmd *cobra.Command) error {
	said := "no sequence was given: usage: kubectl podseq " + cmd.Use
	namespace, err := t.namespace()
	if err != nil {
		return err
	}
	source, err := t.connect()
	if err != nil {
		return err
	}
	sequences, _, err := source.List(cmd.Context(), namespace)
	if err != nil {
		return err // it would not help to give one
	}
	if len(sequences) == 0 {
		return fmt.Errorf("%s; there is none in namespace %s", said, namespace)
	}
	return fmt.Errorf("%s; namespace %s has %s", said, namespace, text.Names(namesOf(sequences), maxSuggested))
}

// atMost refuses more arguments than a command has.
func atMost(most int, cmd *cobra.Command, args []string) error {
	if len(args) <= most {
		return nil
	}
	return fmt.Errorf("too many arguments: %s: usage: kubectl podseq %s", strings.Join(args[most:], " "), cmd.Use)
}

// namesOf returns what names these sequences on the command line, PodSequences first.
func namesOf(sequences []*snapshot.Sequence) []string {
	sequences = slices.Clone(sequences)
	slices.SortFunc(sequences, snapshot.Compare)
	names := make([]string, len(sequences))
	for i, s := range sequences {
		names[i] = s.Argument()
	}
	return names
}

// groupsOf lists the groups of a sequence as they may be given.
func groupsOf(s *snapshot.Sequence) string {
	titles := make([]string, len(s.Spec.PodGroups))
	for i := range titles {
		titles[i] = fmt.Sprintf("%q", s.Title(i))
	}
	return fmt.Sprintf("%s; give a name, or a number from 1 to %d", text.Names(titles, maxSuggested), len(titles))
}
