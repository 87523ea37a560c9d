package sequence

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
)

// allowing is the namespace of the tests, with an annotation that lists others.
func allowing(list, version string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: oracleNamespace, ResourceVersion: version,
		Annotations: map[string]string{v1alpha1.AllowSequencesFromAnnotation: list},
	}}
}

var farKey = types.NamespacedName{Namespace: "operations", Name: "far"}

// far is a sequence of another namespace for pods of the tests'.
func far() *SequenceWrapper {
	return MakeSequence(farKey.Namespace, farKey.Name).UID("far").TargetNamespace(oracleNamespace).Pods("One", "one").Pods("Two", "two")
}

func TestWhomANamespaceAllows(t *testing.T) {
	tests := map[string]struct {
		list string
		want bool
	}{
		"nobody":                              {list: "", want: false},
		"one":                                 {list: "operations", want: true},
		"one of several":                      {list: "dev,operations,test", want: true},
		"one with spaces around it":           {list: " dev ,\n\toperations , test", want: true},
		"everybody":                           {list: "*", want: true},
		"everybody among others":              {list: "dev, *", want: true},
		"only others":                         {list: "dev,test", want: false},
		"a name of which it is the beginning": {list: "operations-2", want: false},
		"a name of which it is the end":       {list: "my-operations", want: false},
		"a pattern, which nothing but * is":   {list: "oper*", want: false},
		"names without commas between them":   {list: "dev operations", want: false},
		"commas alone":                        {list: ",,", want: false},
		"a name in other letters, which is not a name": {list: "Operations", want: false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			e := newEngine()
			e.ApplyNamespace(allowing(test.list, "1"))
			e.ApplySequence(far().Obj())
			report, ok := e.Report(farKey)
			require.True(t, ok)
			assert.Equal(t, !test.want, report.Refused)
			e.ApplyPod(makePod("two", "2").Obj())
			assert.Equal(t, test.want, e.Decide(makePod("two", "2").Obj()).Held)
		})
	}
}

func TestTheCommandThatGrantsConsent(t *testing.T) {
	var many []string
	for i := range 200 {
		many = append(many, fmt.Sprintf("team-%d", i))
	}
	const command = "kubectl annotate --overwrite namespace shop podsequence.example.com/allow-sequences-from="
	tests := map[string]struct {
		list, want string
	}{
		"nobody is allowed yet":                       {"", command + "operations"},
		"who is allowed stays so":                     {"dev, test", command + "dev,test,operations"},
		"nobody is listed twice":                      {"dev,dev", command + "dev,operations"},
		"what is no name is not run by who copies it": {"dev,$(reboot),`x`;y,a b", command + "dev,operations"},
		"a long list is read by the command itself": {strings.Join(many, ","), command + `"$(kubectl get namespace shop -o ` +
			`jsonpath='{.metadata.annotations.podsequence\.example\.com/allow-sequences-from}'),operations"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			e := newEngine()
			e.ApplyNamespace(allowing(test.list, "1"))
			e.ApplySequence(far().Obj())
			report, _ := e.Report(farKey)
			require.NotEmpty(t, report.Problems)
			assert.Equal(t, v1alpha1.ReasonNamespaceNotAllowed, report.Problems[0].Reason)
			_, got, _ := strings.Cut(report.Problems[0].Message, "allow them with: ")
			assert.Equal(t, test.want, got)
			status := report.Status(far().Obj(), scenarioEpoch)
			assert.Equal(t, report.Problems[0].Message, status.Message, "it is not cut")
		})
	}
}

func TestATargetThatIsNoName(t *testing.T) {
	e := newEngine()
	e.ApplySequence(far().TargetNamespace("shop; reboot").Obj())
	report, _ := e.Report(farKey)
	require.True(t, report.Refused)
	assert.NotContains(t, report.Problems[0].Message, "kubectl")
	assert.Contains(t, report.Problems[0].Message, `"shop; reboot" is not the name of a namespace`)
}

func TestAnEngineForgetsConsentThatNobodyNeeds(t *testing.T) {
	e := newEngine()
	for version := range 100 {
		e.ApplyNamespace(allowing([]string{"*", ""}[version%2], fmt.Sprint(version+1)))
		e.ApplySequence(far().Generation(int64(version + 1)).Obj())
	}
	e.RemoveSequence(farKey, "200")
	e.ReplaceNamespaces(nil, "201")
	assert.Empty(t, e.consents.facts)
	assert.Empty(t, e.namespaces)
}

func TestConsentTakesNothingFromTheSequencesOfTheNamespaceItself(t *testing.T) {
	e := newEngine()
	e.ApplyNamespace(allowing("*", "1"))
	e.ApplySequence(far().Obj())
	e.ApplySequence(MakeSequence(oracleNamespace, "near").UID("near").Pods("Zero", "zero").Pods("Two", "two").Obj())
	two := makePod("two", "2").SchedulingGates([]string{v1alpha1.DefaultSchedulingGateName}).Obj()
	e.ApplyPod(two)
	e.ApplyPod(makePod("zero", "3").Node("n").Phase(corev1.PodSucceeded).Obj())
	assert.True(t, e.Decide(two).Held, "the sequence of the other namespace holds it")
	changes := e.ApplyNamespace(allowing("", "4"))
	require.Len(t, changes.Released, 1)
	assert.Equal(t, []string{v1alpha1.DefaultSchedulingGateName}, changes.Released[0].Gates, "the own sequence lifts it")
}
