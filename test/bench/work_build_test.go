package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/podsequence/tools/sandbox/controlplane"
)

// difference is one of a scheduler of which the instructions are counted from the one that people run: in a file of Kubernetes.
type difference struct{ file, real, counted string }

// root is the directory of this module.
const root = "../.."

// slowdown is how many times slower a program is about while its instructions are counted.
const slowdown = "50 * "

var differences = []difference{
	// Upstream times each run of a plugin for so many percent of the pods, which it chooses at random. This costs half as much as such a pod
	// costs otherwise: a count would depend on whether eight pods of a hundred are timed, or twelve.
	{"pkg/scheduler/schedule_one.go", "pluginMetricsSamplePercent = 10", "pluginMetricsSamplePercent = 0"},
	{
		"pkg/scheduler/framework/runtime/batch.go", "maxBatchAge = 500 * time.Millisecond",
		"maxBatchAge = " + slowdown + "500 * time.Millisecond",
	},
	// To look a thousand times for metrics that were noted costs 700,000 instructions, each second, twice.
	{
		"pkg/scheduler/framework/runtime/framework.go", "NewMetricsAsyncRecorder(1000, time.Second,",
		"NewMetricsAsyncRecorder(1000, " + slowdown + "time.Second,",
	},
	{
		"pkg/scheduler/scheduler.go", "NewMetricsAsyncRecorder(1000, time.Second,",
		"NewMetricsAsyncRecorder(1000, " + slowdown + "time.Second,",
	},
}

const whatIsCounted = "The scheduler was built for the count with a few changes. Plugins are timed for no pod, and not for one in ten, at " +
	"random: whether nine of a hundred are timed or eleven would change the count by 1%. As the scheduler runs some fifty times slower, a batch " +
	"is kept for 25 s and not for 0.5 s, and metrics are published every 50 s and not every second. Twenty pods come at a time."

// apply returns the path of the file, for which kubernetes is the directory of that module, and what becomes of it.
func (d difference) apply(kubernetes string) (file string, changed []byte, err error) {
	file = filepath.Join(kubernetes, d.file)
	source, err := os.ReadFile(file)
	if err != nil {
		return "", nil, fmt.Errorf("read file to change: %w", err)
	}
	if bytes.Count(source, []byte(d.real)) != 1 {
		return "", nil, fmt.Errorf("change %s: it does not have %q once", file, d.real)
	}
	return file, bytes.Replace(source, []byte(d.real), []byte(d.counted), 1), nil
}

// upstreamModule returns the directory of Kubernetes.
func upstreamModule(t testing.TB) (string, error) {
	output, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes").Output()
	return strings.TrimSpace(string(output)), err
}

func TestTheSchedulerHasWhatTheCountedOneDiffersIn(t *testing.T) {
	module, err := upstreamModule(t)
	require.NoError(t, err)
	for _, d := range differences {
		_, changed, err := d.apply(module)
		require.NoError(t, err)
		assert.Contains(t, string(changed), d.counted)
	}
	_, _, err = difference{file: differences[0].file, real: "pluginMetricsSamplePercent = 11"}.apply(module)
	require.ErrorContains(t, err, "does not have")
}

// countedScheduler is built once.
var countedScheduler struct {
	lock sync.Mutex
	file string
}

// buildCounted builds the scheduler of which the instructions are counted, with the names of functions, and returns its path. Go builds
// nothing with other files in the place of those of a module, unless the module is replaced by a directory: that is a link to the same
// module.
func buildCounted(b *testing.B) string {
	b.Helper()
	countedScheduler.lock.Lock()
	defer countedScheduler.lock.Unlock()
	if countedScheduler.file != "" {
		return countedScheduler.file
	}
	bin, err := controlplane.FindBin()
	require.NoError(b, err)
	dir, err := filepath.Abs(filepath.Join(bin, "counted"))
	require.NoError(b, err)
	// No package of the module: its name begins with an underscore.
	sources := filepath.Join(dir, "_sources")
	require.NoError(b, os.MkdirAll(sources, 0o755))
	module, err := upstreamModule(b)
	require.NoError(b, err)
	link := filepath.Join(dir, "kubernetes")
	require.NoError(b, os.RemoveAll(link))
	require.NoError(b, os.Symlink(module, link))
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for _, d := range differences {
		file, source, err := d.apply(link)
		require.NoError(b, err)
		changed := filepath.Join(sources, filepath.Base(file))
		require.NoError(b, os.WriteFile(changed, source, 0o600))
		overlay.Replace[file] = changed
	}
	replaced, err := json.Marshal(overlay)
	require.NoError(b, err)
	overlayFile := filepath.Join(dir, "overlay.json")
	require.NoError(b, os.WriteFile(overlayFile, replaced, 0o600))
	const modFile, sumFile = "counted.mod", "counted.sum"
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(b, err)
	require.NoError(b, os.WriteFile(filepath.Join(dir, modFile), append(mod, []byte("\nreplace k8s.io/kubernetes => "+link+"\n")...), 0o600))
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	require.NoError(b, err)
	require.NoError(b, os.WriteFile(filepath.Join(dir, sumFile), sum, 0o600))
	progress("building the scheduler that is counted")
	built := filepath.Join(dir, ourScheduler)
	command := exec.CommandContext(b.Context(), "go", "build", "-modfile", filepath.Join(dir, modFile), "-overlay", overlayFile, "-ldflags=-w",
		"-o", built, "./cmd/scheduler")
	command.Dir = root
	output, err := command.CombinedOutput()
	require.NoError(b, err, "build the scheduler that is counted: %s", output)
	countedScheduler.file = built
	return built
}
