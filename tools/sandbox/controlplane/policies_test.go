package controlplane

import (
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"

	"example.com/podsequence/manifests"
)

// An API server accepts only what the one a minor version before it knows as well, so 1.30 accepts what 1.29 knows.
func TestValidatingPoliciesAreAcceptedByKubernetes130(t *testing.T) {
	variables := []cel.EnvOption{cel.Variable("authorizer", library.AuthorizerType)}
	for _, name := range []string{"object", "oldObject", "request", "variables", "namespaceObject"} {
		variables = append(variables, cel.Variable(name, cel.DynType))
	}
	set, err := environment.MustBaseEnvSet(version.MajorMinor(1, 29)).Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0), EnvOptions: variables,
	})
	require.NoError(t, err)
	env, err := set.Env(environment.NewExpressions)
	require.NoError(t, err)

	objects, err := renderManifests(manifests.FS, "default")
	require.NoError(t, err)
	checked := 0
	for _, object := range objects {
		if object.GetKind() != "ValidatingAdmissionPolicy" {
			continue
		}
		var policy admissionv1.ValidatingAdmissionPolicy
		require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &policy))
		var expressions []string
		for _, condition := range policy.Spec.MatchConditions {
			expressions = append(expressions, condition.Expression)
		}
		for _, variable := range policy.Spec.Variables {
			expressions = append(expressions, variable.Expression)
		}
		for _, validation := range policy.Spec.Validations {
			expressions = append(expressions, validation.Expression, validation.MessageExpression)
		}
		for _, expression := range expressions {
			if strings.TrimSpace(expression) == "" {
				continue
			}
			_, issues := env.Compile(expression)
			assert.NoError(t, issues.Err(), "%s: %s", policy.Name, expression)
			checked++
		}
	}
	assert.NotZero(t, checked)
}
