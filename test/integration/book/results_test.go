package book

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/book"
	"example.com/podsequence/test/harness/cluster"
)

// outcome is what the commands of one section must lead to.
type outcome struct {
	// from is the file that the section starts from: the test creates its namespace anew.
	from string
	// check fails the test if the commands did not do what the section says.
	check func(*testing.T)
}

// outcomes holds, by page and heading, what the commands of a section must lead to. Every section of such a page that contains
// commands is listed.
var outcomes = map[string]map[string]outcome{
	"docs/howto/break-glass.md": {
		"Decide what is wrong":                  {check: checkSaysWhatRuns},
		"Practise on the sandbox":               {check: nothingButTheDatabaseIsBound},
		"Skip a group":                          {from: "night.yaml", check: everythingIsBound},
		"Skip a group without the plugin":       {from: "night.yaml", check: everythingIsBound},
		"Release everything":                    {from: "night.yaml", check: everythingIsBound},
		"Release a workload":                    {from: "night.yaml", check: everythingElseIsReleased},
		"Release a workload without the plugin": {from: "night.yaml", check: everythingElseIsReleased},
		"Delete the sequence":                   {from: "night.yaml", check: nothingIsLeftOfTheSequence},
		"Clean up":                              {check: func(*testing.T) {}},
	},
}

// night is the namespace of break-glass.md, and pods how many pods each tier has there on a cluster of three nodes.
const night = "night"

var podsAtNight = map[string]int{"database": 1, "frontend": 2, "cache": 2, "agent": 3}

// awaitTier waits until all pods of a tier are as they should be.
func awaitTier(t *testing.T, tier string, is func(*corev1.Pod) bool) {
	t.Helper()
	cluster.Eventually(t, "the pods of "+tier, func() error {
		var list corev1.PodList
		require.NoError(t, shared.API.List(t.Context(), &list, client.InNamespace(night), client.MatchingLabels{"tier": tier}))
		var names []string
		for i := range list.Items {
			if pod := &list.Items[i]; pod.DeletionTimestamp == nil && is(pod) {
				names = append(names, pod.Name)
			}
		}
		if len(names) != podsAtNight[tier] || len(names) != len(list.Items) {
			return fmt.Errorf("of %d pods of %s these are as they should be: %s", len(list.Items), tier, strings.Join(names, ", "))
		}
		return nil
	})
}

// checkSaysWhatRuns runs the command that the section shows as an example: it exits with 1 if any page has broken a sequence.
func checkSaysWhatRuns(t *testing.T) {
	output, _ := shared.Shell(t, pluginPath(t)+"kubectl podseq check")
	for _, program := range []string{"podsequence-scheduler", "podsequence-controller"} {
		assert.Contains(t, output, program)
	}
}

func isBound(pod *corev1.Pod) bool { return pod.Spec.NodeName != "" }

// isReleased reports whether the stock scheduler bound the pod, and nothing of PodSequence is left on it.
func isReleased(pod *corev1.Pod) bool {
	return isBound(pod) && pod.Spec.SchedulerName == corev1.DefaultSchedulerName && pod.Labels[v1alpha1.SequenceLabel] == ""
}

func nothingButTheDatabaseIsBound(t *testing.T) {
	awaitTier(t, "database", isBound)
	for _, tier := range []string{"frontend", "agent"} {
		awaitTier(t, tier, cluster.IsHeld)
	}
	// A StatefulSet creates its second pod after the first.
	cluster.Await(t, "the first pod of the cache", func() bool {
		pod := &corev1.Pod{}
		return shared.API.Get(t.Context(), types.NamespacedName{Namespace: night, Name: "cache-0"}, pod) == nil && cluster.IsHeld(pod)
	})
}

func everythingIsBound(t *testing.T) {
	for tier := range podsAtNight {
		awaitTier(t, tier, isBound)
	}
}

func everythingElseIsReleased(t *testing.T) {
	for tier := range podsAtNight {
		if tier != "database" {
			awaitTier(t, tier, isReleased)
		}
	}
}

func nothingIsLeftOfTheSequence(t *testing.T) {
	everythingElseIsReleased(t)
	// Its rollout waits for the new pod, which never becomes ready.
	cluster.Await(t, "a new pod of the database", func() bool {
		var list corev1.PodList
		require.NoError(t, shared.API.List(t.Context(), &list, client.InNamespace(night), client.MatchingLabels{"tier": "database"}))
		return slices.ContainsFunc(list.Items, func(pod corev1.Pod) bool { return isReleased(&pod) })
	})
	err := shared.API.Get(t.Context(), types.NamespacedName{Namespace: night, Name: "shop"}, &v1alpha1.PodSequence{})
	assert.True(t, apierrors.IsNotFound(err), "%v", err)
}

// section is the blocks below one heading.
type section struct {
	heading string
	blocks  []book.Block
}

// sectionsOf splits a page by its headings of the second level.
func sectionsOf(page book.Page) []section {
	sections := []section{{}}
	lines := page.Lines
	heading := ""
	for _, block := range page.Blocks {
		for len(lines) > 0 && lines[0].Number < block.Number {
			if text, isHeading := strings.CutPrefix(lines[0].Text, "## "); isHeading {
				heading = text
			}
			lines = lines[1:]
		}
		if sections[len(sections)-1].heading != heading {
			sections = append(sections, section{heading: heading})
		}
		last := &sections[len(sections)-1]
		last.blocks = append(last.blocks, block)
	}
	return sections
}

// startFrom creates the namespace of a file anew, as a reader does who starts again.
func startFrom(t *testing.T, directory, file string) {
	t.Helper()
	shared.MustShell(t, fmt.Sprintf("kubectl delete namespace %s --ignore-not-found --timeout=5m", night))
	shared.MustShell(t, fmt.Sprintf("cd '%s'; kubectl apply -f '%s'", directory, file))
	awaitTier(t, "database", isBound)
	nothingButTheDatabaseIsBound(t)
}
