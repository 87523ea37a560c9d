package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/tools/podseqctl"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// shopDemo is the sequence of the first act.
var shopDemo = types.NamespacedName{Namespace: "shop", Name: "shop"}

// playShop applies a kustomization of the shop, shows how it comes along, and asks meanwhile why a pod of the second tier waits.
func playShop(ctx context.Context, out io.Writer, cluster *controlplane.Cluster, kustomization string) error {
	if err := cluster.Apply(ctx, kustomization); err != nil {
		return err
	}
	screen := newScreen(out)
	waits := ""
	err := followAct(ctx, screen, cluster.Config(), shopDemo, func(sequence *v1alpha1.PodSequence, pods []corev1.Pod) frame {
		current := shopTable(sequence, pods)
		waits = waitsForDatabase(pods)
		current.chapter, current.done = "", current.done || waits != ""
		return current
	})
	if err != nil {
		return err
	}
	if waits != "" {
		screen.keep()
		if err := podseq(ctx, out, cluster, "why", waits); err != nil {
			return err
		}
	}
	return followAct(ctx, screen, cluster.Config(), shopDemo, shopTable)
}

// waitsForDatabase returns the name of a pod of the application that is held while a part of the database is ready; empty if there
// is none.
func waitsForDatabase(pods []corev1.Pod) string {
	database, held := map[string]int{}, ""
	for i := range pods {
		switch pod := &pods[i]; {
		case pod.Labels["tier"] == "database":
			database[podState(pod)]++
		case pod.Labels["tier"] == "application" && podState(pod) == "held" && (held == "" || pod.Name < held):
			held = pod.Name
		}
	}
	if database["ready"] == 0 || database["starting"] == 0 {
		return ""
	}
	return held
}

// podseq runs kubectl podseq in the namespace of the shop, as a user would.
func podseq(ctx context.Context, out io.Writer, cluster *controlplane.Cluster, args ...string) error {
	args = append([]string{"-n", shopDemo.Namespace}, args...)
	fmt.Fprintf(out, "\n$ kubectl podseq %s\n", strings.Join(args, " "))
	command := podseqctl.NewCommand(genericiooptions.IOStreams{In: strings.NewReader(""), Out: out, ErrOut: out}, podseqctl.Options{})
	command.SetArgs(append([]string{"--kubeconfig", cluster.Kubeconfig()}, args...))
	if err := command.ExecuteContext(ctx); err != nil {
		return fmt.Errorf("kubectl podseq: %w", err)
	}
	return nil
}

// shopTable has a row for each group: how many of the pods with its tier label are ready, and what each is doing. It reads pods alone, so
// that all of it is from one moment; status follows a second later.
func shopTable(sequence *v1alpha1.PodSequence, pods []corev1.Pod) frame {
	var out bytes.Buffer
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "  GROUP\tREADY\tPODS")
	chapter := ""
	for i, group := range sequence.Spec.PodGroups {
		tier := strings.ToLower(group.Name)
		total, ready, started := countPods(pods, tier)
		if started > 0 {
			chapter = group.Name
		}
		fmt.Fprintf(w, "  %d %s\t%d/%d\t%s\n", i+1, group.Name, ready, total, describePods(pods, tier))
	}
	_ = w.Flush() // a bytes.Buffer takes everything
	return frame{table: out.String(), chapter: chapter, done: sequence.Status.Phase == v1alpha1.PhaseCompleted}
}

// countPods counts the pods of a tier, those that are ready, and those that are not held.
func countPods(pods []corev1.Pod, tier string) (total, ready, started int) {
	for i := range pods {
		if pods[i].Labels["tier"] != tier {
			continue
		}
		total++
		switch podState(&pods[i]) {
		case "ready":
			ready++
			started++
		case "starting":
			started++
		}
	}
	return total, ready, started
}

// describePods lists the pods of a tier by what they are doing.
func describePods(pods []corev1.Pod, tier string) string {
	byState := map[string][]string{}
	total := 0
	for i := range pods {
		if pods[i].Labels["tier"] == tier {
			state := podState(&pods[i])
			byState[state] = append(byState[state], pods[i].Name)
			total++
		}
	}
	var parts []string
	for state, names := range byState {
		slices.Sort(names)
		text := strings.Join(names, ", ")
		if total > 2 {
			text = fmt.Sprintf("%d of %d", len(names), total)
		}
		parts = append(parts, text+" "+state)
	}
	slices.Sort(parts)
	return strings.Join(parts, "; ")
}
