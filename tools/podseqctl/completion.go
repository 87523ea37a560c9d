package podseqctl

import (
	"slices"

	"github.com/spf13/cobra"

	"example.com/podsequence/tools/podseqctl/snapshot"
	"example.com/podsequence/tools/podseqctl/text"
)

// completion completes arguments in a shell.
type completion struct{ *tool }

// completeSequences completes the names of sequences.
func (t completion) sequences(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	namespace, err := t.namespace()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	source, err := t.connect()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	sequences, _, err := source.List(cmd.Context(), namespace)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return namesOf(sequences), cobra.ShellCompDirectiveNoFileComp
}

// completeGroups completes the name of a sequence, and then those of its groups.
func (t completion) groups(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	switch len(args) {
	case 0:
		return t.sequences(cmd, args, toComplete)
	case 1:
		s, err := t.find(cmd.Context(), args[0])
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var titles []string
		for i := range s.Spec.PodGroups {
			title := s.Title(i)
			if named, err := s.GroupNamed(title); err != nil || named != i || text.OneLine(title) != title {
				title = s.Place(i)
			}
			titles = append(titles, title)
		}
		return titles, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// completePods completes the names of pods that wait.
func (t completion) pods(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return t.from(cmd, args, func(world *snapshot.Snapshot, namespace string) (names []string) {
		for _, pod := range world.Pods {
			if pod.Namespace == namespace && pod.Spec.NodeName == "" {
				names = append(names, pod.Name)
			}
		}
		return names
	})
}

// completeFrom completes the first argument by what there is in the namespace.
func (t completion) from(
	cmd *cobra.Command, args []string, names func(world *snapshot.Snapshot, namespace string) []string,
) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	namespace, err := t.namespace()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	world, err := t.snapshot(cmd.Context(), namespace)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return slices.Sorted(slices.Values(names(world, namespace))), cobra.ShellCompDirectiveNoFileComp
}
