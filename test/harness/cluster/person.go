package cluster

import (
	"bytes"
	"os/exec"
	"path/filepath"

	"github.com/stretchr/testify/require"

	"example.com/podsequence/tools/sandbox/controlplane"
)

// Person is somebody who has one role in the namespace of a story, no right elsewhere, and kubectl podseq.
type Person struct {
	*Story
	// User is the name that the API server knows.
	User string
	// Kubeconfig is the path of the person's own.
	Kubeconfig string
}

// Podseq runs kubectl podseq, and returns what it prints and how it ends.
func (p *Person) Podseq(args ...string) (stdout, stderr string, err error) {
	p.Helper()
	bin, err := controlplane.FindBin()
	require.NoError(p, err)
	var out, errOut bytes.Buffer
	command := exec.CommandContext(p.Ctx, filepath.Join(bin, "kubectl-podseq"), append([]string{"--kubeconfig", p.Kubeconfig}, args...)...)
	command.Stdout, command.Stderr = &out, &errOut
	err = command.Run()
	return out.String(), errOut.String(), err
}

// Says runs what must succeed.
func (p *Person) Says(args ...string) (stdout, stderr string) {
	p.Helper()
	stdout, stderr, err := p.Podseq(args...)
	require.NoError(p, err, "%v\n%s%s", args, stdout, stderr)
	return stdout, stderr
}
