package podseqctl

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// importCompose returns the sequence that a command makes of compose files, and the notes.
func importCompose(t *testing.T, args ...string) (sequence, notes string) {
	t.Helper()
	output := run(&fakeSource{}, append([]string{"import", "compose"}, args...))
	sequence, notes, found := strings.Cut(output, "\nnote: ")
	require.True(t, found && strings.HasPrefix(output, "apiVersion: "), "it was not imported: %s", output)
	return sequence + "\n", "note: " + notes
}

// What kompose makes of the file is what the sequence selects.
func TestAnImportedSequenceFitsWhatKomposeMakesOfTheFile(t *testing.T) {
	sequence, _ := importCompose(t, "testdata/compose/shop/compose.yaml")
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join("testdata/compose/shop", name))
		require.NoError(t, err)
		return string(text)
	}
	output := lintStandardInput(t, sequence, read("namespace.yaml"), read("kompose.yaml"))
	assert.Contains(t, output, "\nchecked 1 PodSequence, 4 workloads and 1 pod in files, not in a cluster\n0 errors, 0 warnings, 2 notes\n")
	assert.Equal(t, 2, strings.Count(output, "Note    ProgressDeadline: "), "kompose sets no deadline: %s", output)
}

func TestTheAPIServerTakesImportedSequences(t *testing.T) {
	for name, args := range map[string][]string{
		"all conditions":    {"testdata/compose/laptop/compose.yaml"},
		"several files":     {"testdata/compose/layers/compose.yaml", "testdata/compose/layers/compose.prod.yaml", "--profile", "jobs"},
		"names that change": {"testdata/compose/names/compose.yaml"},
		"64 services":       {chain(t, 64, 1)},
		"16 dependencies":   {chain(t, 64, 16)}, // with more paths than anybody can follow
		"17 dependencies":   {chain(t, 64, 17)},
	} {
		t.Run(name, func(t *testing.T) {
			sequence, _ := importCompose(t, args...)
			assert.Contains(t, lintStandardInput(t, sequence), "\n0 errors, 0 warnings, 0 notes\n")
		})
	}
}

// chain writes a file in which each service depends on that many services before it, and returns its path.
func chain(t *testing.T, services, dependencies int) string {
	t.Helper()
	var file strings.Builder
	file.WriteString("services:\n")
	for i := range services {
		fmt.Fprintf(&file, "  s%02d:\n    image: work\n    depends_on: [", i)
		for on := max(0, i-dependencies); on < i; on++ {
			fmt.Fprintf(&file, "s%02d, ", on)
		}
		file.WriteString("]\n")
	}
	return write(t, "compose.yaml", file.String())
}

func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shop", name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func TestWhatCannotBeImportedIsSaid(t *testing.T) {
	file := func(content string) string { return write(t, "compose.yaml", content) }
	overriding := filepath.Join(filepath.Dir(file("services: {db: {image: db}}")), "compose.override.yaml")
	require.NoError(t, os.WriteFile(overriding, []byte("services: {web: {image: web, depends_on: [db]}}"), 0o600))
	var seventeen []string
	for i := range 17 {
		seventeen = append(seventeen, fmt.Sprintf("s%d", i))
	}
	for name, test := range map[string]struct {
		path string
		want []string
	}{
		"more than 64 services": {chain(t, 65, 1), []string{"65 services depend on each other, and a PodSequence has at most 64 groups"}},
		"more than 16 dependencies": {file("services:\n  web: {image: web, depends_on: [" + strings.Join(seventeen, ", ") + "]}\n  " +
			strings.Join(seventeen, ": {image: work}\n  ") + ": {image: work}\n"),
			[]string{"service web depends on 17 services that do not depend on each other, and a group waits for at most 16: "}},
		"services of profiles alone": {
			file("services: {web: {image: web, profiles: [shop, all], depends_on: [db]}, db: {image: db, profiles: [all]}}"),
			[]string{"all services belong to profiles: give --profile with those to import, of all, shop"},
		},
		"a dependency of a profile that is not given": {
			file("services: {web: {image: web, profiles: [debug], depends_on: [db]}, db: {image: db}}"),
			[]string{"there is no order to import; services of profiles are left out: give --profile with those to import, of debug"},
		},
		"a dependency that a provider runs": {
			file("services: {web: {image: web, depends_on: [bus]}, bus: {provider: {type: cloud}}}"),
			[]string{"there is no order to import; providers run bus, and no pods"},
		},
		"a file that overrides another one": {
			overriding, []string{"service web depends on db, which is not in what was read: if compose.yaml has it, give that file first; otherwise"},
		},
		"a condition that does not exist": {
			file("services: {web: {image: web, depends_on: {db: {condition: ready}}}, db: {image: db}}"),
			[]string{"compose.yaml: services.web.depends_on.db.condition value must be one of"},
		},
		"a field that does not exist": {
			file(`services: {web: {image: web, depends_on: [db], scale: "${N}", dependson: db}, db: {image: db}}`),
			[]string{"services.web.dependson is no field of Compose: correct or remove it\n"},
		},
		"a value that depends on a variable": {
			file(`services: {web: {image: web, depends_on: [db], restart: "${N}", pull_policy: "${P}"}, db: {image: db}}`),
			[]string{"; these variables have no value in the environment or in .env: N, P\n"},
		},
		"a file that does not exist": {
			"testdata/compose/missing.yaml", []string{"read testdata/compose/missing.yaml: ", "no such file or directory"},
		},
		"a directory": {"testdata/compose", []string{"testdata/compose is a directory"}},
		"a file of Kubernetes": {
			"testdata/compose/shop/kompose.yaml", []string{"additional properties '"},
		},
		"a file that is no YAML": {file("services: ["), []string{"compose.yaml: yaml: "}},
		"a project with a long name": {
			file("name: " + strings.Repeat("a", 64) + "\nservices: {web: {image: web, depends_on: [db]}, db: {image: db}}"),
			[]string{"; give --name"},
		},
		"a name that no object can have": {
			file("services: {web: {image: web, depends_on: [_]}, _: {image: db}}"), []string{`service _: kompose names its objects "-"`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			output := run(&fakeSource{}, []string{"import", "compose", test.path})
			assert.True(t, strings.HasPrefix(output, "error: "), output)
			for _, want := range test.want {
				assert.Contains(t, output, want)
			}
		})
	}
}

// A laptop has other variables than the machine on which the file is imported.
func TestVariablesComeFromTheEnvironmentAndDotEnv(t *testing.T) {
	path := write(t, "compose.yaml", `services: {web: {image: "${IMAGE:?}", scale: "${WEB}", depends_on: [db]}, db: {image: "${DB_IMAGE:?}"}}`)
	_, notes := importCompose(t, path)
	assert.Contains(t, notes, "note: DB_IMAGE, IMAGE, WEB: no value")
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(path), ".env"), []byte("IMAGE=web\nWEB=2\n"), 0o600))
	_, notes = importCompose(t, path)
	assert.Contains(t, notes, "note: DB_IMAGE: no value")
	t.Setenv("DB_IMAGE", "postgres")
	_, notes = importCompose(t, path)
	assert.NotContains(t, notes, "no value")

	// Where a blank does not do, the order is imported all the same.
	path = write(t, "compose.yaml", `services: {db: {image: db}, web: {image: web, depends_on: [db], mem_limit: "${MEM}m",
  volumes: ["${DATA}/a:/a"], ports: ["${A}", "${B}:80", "${C:-90}:90"], healthcheck: {test: work, retries: "${RETRIES}"}, networks: [n]}}`)
	sequence, notes := importCompose(t, path)
	assert.Contains(t, sequence, "  - dependsOn:\n    - db\n    name: web\n")
	assert.Contains(t, notes, "note: A, B, DATA, MEM, RETRIES: no value")
}

func TestWithoutAFileThatOfTheDirectoryIsImported(t *testing.T) {
	path := write(t, "compose.yaml", "services: {web: {image: web, depends_on: [db]}, db: {image: db}}")
	t.Chdir(filepath.Dir(path))
	sequence, _ := importCompose(t)
	assert.Contains(t, sequence, "name: shop\n")
	t.Chdir("..")
	output := run(&fakeSource{}, []string{"import", "compose"})
	assert.Equal(t, "error: read the compose file: there is no compose.yaml here: name the file\n", output)
}

func TestAComposeFileMayComeFromStandardInput(t *testing.T) {
	input, err := os.Open("testdata/compose/shop/compose.yaml")
	require.NoError(t, err)
	defer func(before *os.File) {
		os.Stdin = before
		require.NoError(t, input.Close())
	}(os.Stdin)
	os.Stdin = input
	sequence, _ := importCompose(t, "-", "--name", "shop")
	want, _ := importCompose(t, "testdata/compose/shop/compose.yaml")
	assert.Equal(t, want, sequence)
}

func TestAnImportedGroupNamesOnlyWhatDoesNotFollowFromOthers(t *testing.T) {
	sequence, _ := importCompose(t, chain(t, 18, 17))
	assert.Contains(t, sequence, "  - dependsOn:\n    - s16\n    name: s17\n")
	// Of two ways to db, one through a service that web does not name.
	sequence, _ = importCompose(t, write(t, "compose.yaml", "services: {web: {image: web, depends_on: [api, db, mail]}, "+
		"api: {image: api, depends_on: [cache]}, cache: {image: cache, depends_on: [db]}, db: {image: db}, mail: {image: mail}}"))
	assert.Contains(t, sequence, "  - dependsOn:\n    - api\n    - mail\n    name: web\n")
}

func TestWhatKomposeMakesNoPodsOfIsSaid(t *testing.T) {
	sequence, notes := importCompose(t, write(t, "compose.yaml", "services: {bus: {provider: {type: cloud}}, db: {image: db}, "+
		"migrate: {image: work, restart: 'on-failure:3', depends_on: [db]}, "+
		"web: {image: web, depends_on: {bus: {condition: service_started}, migrate: {condition: service_completed_successfully}}}}"))
	assert.NotContains(t, sequence, "bus")
	assert.Contains(t, notes, "note: web does not wait for bus, which its provider cloud runs, and no pod: ")
	assert.Contains(t, notes, "note: migrate has restart: on-failure:3, and kompose knows no number there: remove it, and kompose makes a Pod")
}
