package podseqctl

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	clocktesting "k8s.io/utils/clock/testing"

	"example.com/podsequence/tools/podseqctl/text"
)

// forged is part of every hostile text. Nothing that a program prints begins with it.
const forged = "FORGED"

// hostileTexts are what a tenant may write to forge what an administrator sees.
var hostileTexts = []string{
	"\x1b[31m" + forged,             // a colour that is one of ours
	"\x1b[2J\x1b[H" + forged,        // clear the screen
	"\x1b]0;" + forged + "\x07",     // the title of the terminal
	"\u009b31m" + forged,            // the same escape in one character of C1
	"\n" + forged + ": all is well", // a line of its own
	"\r" + forged,
	"\v" + forged,
	"\t" + forged,
	"\x00" + forged,
	"\x7f\b\b" + forged,
	"\u0085" + forged, // C1's line break
	"\u2028" + forged, // Unicode's line break
	"\u202e" + forged, // reads from right to left
	"\u2066" + forged + "\u2069",
	"\u200b" + forged,     // no width
	"\U000e0041" + forged, // invisible, and outside of the basic plane
	"\xff\x9b" + forged,   // no UTF-8
	"<" + forged + "/>",
	`"><` + forged + ` onload="`,
	"]]>&" + forged + ";",
}

// share is the part of the scenes that one input runs: all of them would take long.
const share = 10

// FuzzOutputIsPlain runs the read commands of the golden tests in each output form, with a hostile text in any string of the objects
// that somebody may choose freely.
func FuzzOutputIsPlain(f *testing.F) {
	for i, hostile := range hostileTexts {
		f.Add(hostile, uint64(i))
	}
	scenes := goldenScenes(f)
	f.Fuzz(func(t *testing.T, hostile string, seed uint64) {
		if !strings.Contains(hostile, forged) {
			hostile += forged
		}
		random := rand.New(rand.NewPCG(seed, 1))
		for i := int(seed % share); i < len(scenes); i += share {
			s := scenes[i]
			style := text.Style{Colours: random.IntN(2) == 0, Width: 100 * random.IntN(2)}
			source := parse(t, "")
			for _, object := range s.objects {
				source.addHostile(t, object, hostile, random)
			}
			for _, arg := range s.forbidden {
				source.forbid(arg)
			}
			for _, args := range s.commands {
				checkPlain(t, source, style, args, hostile)
			}
		}
	})
}

// scene is a directive "objects" of the golden tests, and the read commands after it in every form.
type scene struct {
	objects   []*unstructured.Unstructured
	forbidden []string
	commands  [][]string
}

// goldenScenes reads the inputs of testdata/golden. Expected output ends with an empty line, or is between two doubled marks.
func goldenScenes(tb testing.TB) []*scene {
	tb.Helper()
	files, err := filepath.Glob("testdata/golden/*")
	require.NoError(tb, err)
	var scenes []*scene
	for _, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(tb, err)
		for _, directive := range regexp.MustCompile(`(?m)^(objects|run)\b([^\n]*)\n((?:[^\n]*\n)*?)----\n`).FindAllStringSubmatch(string(content), -1) {
			command, args, input := directive[1], strings.Fields(directive[2]), directive[3]
			switch {
			case command == "objects":
				scenes = append(scenes, &scene{objects: decode(tb, input), forbidden: args})
			case len(scenes) > 0:
				s := scenes[len(scenes)-1]
				s.commands = append(s.commands, forms(arguments(input))...)
			}
		}
	}
	require.NotEmpty(tb, scenes)
	return scenes
}

// forms returns a read command in each form of its output; nothing for other commands.
func forms(args []string) [][]string {
	outputs := map[string][]string{
		"get": {"wide", "json", "yaml"}, "why": {"json", "yaml"}, "tree": {"json", "yaml"}, "lint": {"json", "yaml"},
		"timeline": {"text", "svg", "html", "json", "yaml"},
	}
	if len(args) == 0 || outputs[args[0]] == nil || slices.Contains(args, "-f") || slices.Contains(args, "-w") {
		return nil
	}
	all := [][]string{args}
	for _, output := range outputs[args[0]] {
		all = append(all, append(slices.Clone(args), "-o", output))
	}
	return append(all, []string{"skip", args[len(args)-1]}, []string{"skip", args[len(args)-1], forged}, []string{"__complete", "skip", args[len(args)-1], ""})
}

func decode(tb testing.TB, input string) []*unstructured.Unstructured {
	tb.Helper()
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(input), 4096)
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); errors.Is(err, io.EOF) {
			return objects
		} else if err != nil {
			tb.Fatal(err)
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}

// fixed are the fields that the API server checks, or that say which objects belong together.
var fixed = []string{
	"apiVersion", "kind", "name", "namespace", "namespaces", "uid", "pods", "labels", "matchLabels", "selector", "podSelector", "namespaceSelector", "type",
	"status", "nodeName", "schedulerName", "lastTransitionTime", "dependsOn", "time",
}

// addHostile adds the object with the hostile text in some of its strings. Where it would not be such an object any more, it stays as it is.
func (s *fakeSource) addHostile(t *testing.T, object *unstructured.Unstructured, hostile string, random *rand.Rand) {
	changed := object.DeepCopy()
	for key, value := range changed.Object {
		changed.Object[key] = spoil(value, key, hostile, random)
	}
	if isSequence := strings.HasSuffix(object.GetKind(), "PodSequence"); isSequence {
		spoilGroups(changed, hostile, random)
	} else if typed, err := typedOf(changed); err != nil || typed == nil {
		changed = object.DeepCopy()
	}
	s.add(t, changed)
}

// spoil appends the hostile text to half of the strings below a field.
func spoil(value any, field, hostile string, random *rand.Rand) any {
	switch v := value.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for key := range v {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		for _, key := range keys {
			v[key] = spoil(v[key], key, hostile, random)
		}
	case []any:
		for i := range v {
			v[i] = spoil(v[i], field, hostile, random)
		}
	case string:
		if !slices.Contains(fixed, field) && random.IntN(2) == 0 {
			return v + hostile
		}
	}
	return value
}

// spoilGroups gives groups hostile names.
func spoilGroups(object *unstructured.Unstructured, hostile string, random *rand.Rand) {
	for _, list := range [][]string{{"spec", "podGroups"}, {"status", "groups"}} {
		groups, _, _ := unstructured.NestedSlice(object.Object, list...)
		for i := range groups {
			if group, ok := groups[i].(map[string]any); ok && random.IntN(2) == 0 {
				group["name"] = hostile
			}
		}
		if len(groups) > 0 {
			_ = unstructured.SetNestedSlice(object.Object, groups, list...)
		}
	}
}

var colours = regexp.MustCompile("\x1b\\[(0|1|2|31|32|33)m")

// checkPlain runs a command and checks that nothing gets out that is not printable, but for lines and colours of our own.
func checkPlain(t *testing.T, source Source, style text.Style, args []string, hostile string) {
	t.Helper()
	var out, errOut bytes.Buffer
	command := NewCommand(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut},
		Options{Source: source, Clock: clocktesting.NewFakePassiveClock(now), style: &style})
	command.SetArgs(append([]string{"-n", "shop"}, args...))
	if err := command.ExecuteContext(context.Background()); err != nil {
		PrintError(&errOut, err)
	}
	for _, printed := range []string{out.String(), errOut.String()} {
		if utf8.ValidString(hostile) && strings.IndexFunc(hostile, isHostile) >= 0 && strings.Contains(printed, hostile) {
			t.Fatalf("%q: the text is printed as it is:\n%q", args, printed)
		}
		printed = colours.ReplaceAllString(printed, "")
		if i := strings.IndexFunc(printed, isHostile); i >= 0 || !utf8.ValidString(printed) {
			t.Fatalf("%q: not printable at %d:\n%q", args, i, printed)
		}
		if strings.HasPrefix(printed, forged) || strings.Contains(printed, "\n"+forged) {
			t.Fatalf("%q: a line is forged:\n%s", args, printed)
		}
		if last := args[len(args)-1]; (last == "svg" || last == "html") && strings.Contains(printed, "<"+forged) {
			t.Fatalf("%q: an element is forged:\n%s", args, printed)
		}
	}
}

func isHostile(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }
