// Package health asks tools that know nothing of our kinds how an object is: kstatus, by which Flux, kpt and Config Sync
// go, and the script for Argo CD that we ship. Only tests import it.
package health

import (
	"testing"

	"github.com/stretchr/testify/require"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"example.com/podsequence/manifests"
	"example.com/podsequence/test/harness/conditions"
)

// Health is what tools say of an object.
type Health struct {
	Kstatus status.Status
	ArgoCD  string
	// Message is Argo CD's.
	Message string
}

// The judgements that our kinds can get.
var (
	Current    = Health{Kstatus: status.CurrentStatus, ArgoCD: "Healthy"}
	InProgress = Health{Kstatus: status.InProgressStatus, ArgoCD: "Progressing"}
	Failed     = Health{Kstatus: status.FailedStatus, ArgoCD: "Degraded"}
	Suspended  = Health{Kstatus: status.InProgressStatus, ArgoCD: "Suspended"}
)

// Script is the path of the script for Argo CD in manifests.FS.
const Script = "options/gitops/argocd/health.lua"

// Check fails the test unless all tools judge the object so, and the documentation lists its conditions. It returns the message that Argo CD shows.
func Check(t *testing.T, want Health, object runtime.Object) string {
	t.Helper()
	got := Of(t, object)
	conditions.CheckObject(t, object)
	message := got.Message
	got.Message = ""
	require.Equal(t, want, got, message)
	return message
}

// Of asks all tools.
func Of(t *testing.T, object runtime.Object) Health {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	require.NoError(t, err)
	result, err := status.Compute(&unstructured.Unstructured{Object: content})
	require.NoError(t, err)
	argo, message := runScript(t, content)
	return Health{Kstatus: result.Status, ArgoCD: argo, Message: message}
}

// runScript runs our script as Argo CD does: with the object as obj, and with nothing but the language itself, strings and
// tables.
func runScript(t *testing.T, object map[string]any) (status, message string) {
	t.Helper()
	script, err := manifests.FS.ReadFile(Script)
	require.NoError(t, err)
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for name, open := range map[string]lua.LGFunction{
		lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable, lua.StringLibName: lua.OpenString,
	} {
		state.Push(state.NewFunction(open))
		state.Push(lua.LString(name))
		state.Call(1, 0)
	}
	state.SetGlobal("obj", value(state, object))
	require.NoError(t, state.DoString(string(script)))
	returned, ok := state.Get(-1).(*lua.LTable)
	require.True(t, ok, "the script must return a table")
	return state.GetField(returned, "status").String(), state.GetField(returned, "message").String()
}

// value is a JSON value in the script's language.
func value(state *lua.LState, of any) lua.LValue {
	switch of := of.(type) {
	case map[string]any:
		table := state.NewTable()
		for key, field := range of {
			table.RawSetString(key, value(state, field))
		}
		return table
	case []any:
		table := state.NewTable()
		for _, item := range of {
			table.Append(value(state, item))
		}
		return table
	case string:
		return lua.LString(of)
	case int64:
		return lua.LNumber(of)
	case float64:
		return lua.LNumber(of)
	case bool:
		return lua.LBool(of)
	}
	return lua.LNil
}
