package podseqctl

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	ours "example.com/podsequence/internal/version"
	"example.com/podsequence/tools/podseqctl/snapshot"
	"example.com/podsequence/tools/podseqctl/text"
)

// Versions says which builds there are.
type Versions struct {
	Client Client `json:"client"`
	// KubernetesVersion is that of the API server; empty if it was not asked, or did not answer.
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`
	// Programs are the Deployments of PodSequence.
	Programs []Program `json:"programs,omitempty"`
}

// Client is the build of this program.
type Client struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
}

// Program is one Deployment of PodSequence.
type Program struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Image is what it runs; its tag or digest says which version that is.
	Image    string `json:"image"`
	Ready    int32  `json:"ready"`
	Replicas int32  `json:"replicas"`
}

// installed is what version asks of the cluster.
type installed interface {
	// KubernetesVersion returns the version of the API server.
	KubernetesVersion(ctx context.Context) (string, error)
	// Programs returns the Deployments of PodSequence in a namespace.
	Programs(ctx context.Context, namespace string) ([]Program, error)
}

var _ installed = &apiSource{}

// versionCommand compares versions.
type versionCommand struct{ *tool }

func (t versionCommand) command() *cobra.Command {
	var output string
	var clientOnly bool
	command := &cobra.Command{
		Use:   "version",
		Short: "Show the version of this plugin, of the cluster and of the installed programs",
		Example: `  # All versions that you may read.
  kubectl podseq version

  # Only that of the plugin, without a cluster.
  kubectl podseq version --client`,
		Args:              func(cmd *cobra.Command, args []string) error { return atMost(0, cmd, args) },
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkOutput(output, "json", "yaml"); err != nil {
				return err
			}
			versions, notes := Versions{Client: Client{Version: ours.Release(), Commit: ours.Commit()}}, []string(nil)
			if !clientOnly {
				notes = t.askInstalled(cmd.Context(), &versions)
			}
			return t.printVersions(output, versions, notes)
		},
	}
	command.Flags().StringVarP(&output, "output", "o", "", "output `format`: json or yaml")
	command.Flags().BoolVar(&clientOnly, "client", false, "show the version of the plugin only")
	return command
}

// askInstalled adds what the cluster says, and returns what it does not.
func (t versionCommand) askInstalled(ctx context.Context, versions *Versions) (notes []string) {
	source, err := t.connect()
	if err != nil {
		return []string{fmt.Sprintf("cannot ask the cluster: %v", err)}
	}
	from, ok := source.(installed)
	if !ok {
		return nil
	}
	if versions.KubernetesVersion, err = from.KubernetesVersion(ctx); err != nil {
		return []string{fmt.Sprintf("cannot ask the cluster: %v", err)}
	}
	namespace := t.config.InstallationNamespace
	versions.Programs, err = from.Programs(ctx, namespace)
	switch {
	case apierrors.IsForbidden(err):
		notes = append(notes, fmt.Sprintf("the installed programs are not known: %v; %s", err, snapshot.AskFor("view", namespace)))
	case err != nil:
		notes = append(notes, fmt.Sprintf("the installed programs are not known: %v", err))
	case len(versions.Programs) == 0:
		notes = append(notes, fmt.Sprintf("namespace %s has no Deployment of PodSequence: give --installation-namespace if it is elsewhere", namespace))
	}
	return notes
}

func (t versionCommand) printVersions(output string, versions Versions, notes []string) error {
	defer func() { t.tellUnread(notes) }()
	if isEncoded(output) {
		return t.print(output, versions)
	}
	table := text.NewTable("PROGRAM", "VERSION")
	table.Whole = true
	table.Row("kubectl-podseq", ours.String())
	if versions.KubernetesVersion != "" {
		table.Row("Kubernetes", versions.KubernetesVersion)
	}
	for _, p := range versions.Programs {
		table.Row(p.Name, fmt.Sprintf("image %s, %d/%d ready", p.Image, p.Ready, p.Replicas))
	}
	table.Print(t.Out, t.style)
	return nil
}
