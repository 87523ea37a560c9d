package podseqctl

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/tools/podseqctl/explain"
	"example.com/podsequence/tools/podseqctl/snapshot"
	"example.com/podsequence/tools/podseqctl/text"
)

// whyCommand explains why pods and sequences wait.
type whyCommand struct{ *tool }

func (t whyCommand) command() *cobra.Command {
	return t.answering(&cobra.Command{
		Use:   "why POD|KIND/NAME",
		Short: "Explain why a pod, a workload or a sequence waits",
		Long: `Explain why a pod, the pods of a workload, or a sequence waits.

The answer is the whole chain: the sequences that hold the pod, the groups that they wait for, across sequences and
namespaces, and the pods in these groups that are not ready. For each of those it says why: containers, restarts, missing
pods, gates of others, PodGroups, or what its scheduler says. If it never ends by itself, the answer ends with what lint
finds about it. The command reads the cluster now, and applies the rules of the scheduler.`,
		Example: `  # Why is this pod Pending?
  kubectl podseq why web-7d4b9c8f6-x2x9p

  # What do the pods of this Deployment wait for?
  kubectl podseq why deployment/web

  # What does this sequence wait for?
  kubectl podseq why podsequence/backend

  # For scripts.
  kubectl podseq why web-0 -o json`,
		Args: t.needSubject, ValidArgsFunction: t.completion().pods,
	}, t.why)
}

func (t whyCommand) why(ctx context.Context, namespace, argument string, all bool) (answer, error) {
	reason, s, err := t.explain(ctx, namespace, argument, all)
	if err != nil {
		return answer{}, err
	}
	deadlocks(&reason, s, namespace)
	return answer{value: reason, lines: []text.Node{reason.Tree()}, unread: slices.Concat(s.NotInstalled, s.Unread)}, nil
}

// explain explains what the argument names.
func (t whyCommand) explain(ctx context.Context, namespace, argument string, all bool) (explain.Reason, *snapshot.Snapshot, error) {
	kind, name := splitArgument(argument)
	if kind == kindPodSequence || kind == kindClusterPodSequence {
		s, err := t.find(ctx, argument)
		if err != nil {
			return explain.Reason{}, nil, err
		}
		world, err := t.snapshotOf(ctx, s, namespace)
		if err != nil {
			return explain.Reason{}, nil, err
		}
		e := &explain.Explainer{Snapshot: world, Namespace: namespace, All: all}
		return e.Sequence(world.Sequence(s.Key())), world, nil
	}
	world, err := t.snapshot(ctx, namespace)
	if err != nil {
		return explain.Reason{}, nil, err
	}
	e := &explain.Explainer{Snapshot: world, Namespace: namespace, All: all}
	for _, what := range []string{"pods", kind + "s"} {
		if err := world.Denied[[2]string{namespace, what}]; err != nil {
			return explain.Reason{}, nil, fmt.Errorf("%s cannot be explained: %w; %s", argument, err, snapshot.AskFor("view", namespace))
		}
	}
	if kind == "" || kind == "pod" {
		pod := world.Pod(namespace, name)
		if pod == nil {
			return explain.Reason{}, nil, t.noPod(world, namespace, name)
		}
		return e.Pod(pod), world, nil
	}
	if object := world.Workload(inventory.Kind(kind), namespace, name); object != nil {
		return e.Workload(inventory.Kind(kind), object), world, nil
	}
	if pods := world.OwnedByName(kind, namespace, name); len(pods) > 0 {
		return e.Owner(kind, namespace, name, pods), world, nil
	}
	return explain.Reason{}, nil, fmt.Errorf("%s does not exist in namespace %s, or has no pods: kubectl get %s -n %s lists those that exist",
		argument, namespace, strings.ToLower(kind), namespace)
}

// noPod says what else the user may mean.
func (t whyCommand) noPod(world *snapshot.Snapshot, namespace, name string) error {
	for kind, objects := range world.Workloads {
		for _, object := range objects {
			if object.GetNamespace() == namespace && object.GetName() == name && metav1.GetControllerOfNoCopy(object) == nil {
				return fmt.Errorf("pod %s does not exist in namespace %s, but a %s of this name does: kubectl podseq why %s/%s",
					name, namespace, kind, strings.ToLower(string(kind)), name)
			}
		}
	}
	for _, s := range world.Sequences {
		if s.Key().Name == name {
			return fmt.Errorf("pod %s does not exist in namespace %s, but %s does: kubectl podseq why podsequence/%s", name, namespace, s, name)
		}
	}
	return fmt.Errorf("pod %s does not exist in namespace %s: kubectl get pods -n %s lists those that do", name, namespace, namespace)
}
