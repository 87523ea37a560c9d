package podseqctl

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"example.com/podsequence/tools/podseqctl/snapshot"
)

const (
	groupVersionPath = "/apis/scheduling.example.com/v1alpha1"
	bothKinds        = `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"scheduling.example.com/v1alpha1","resources":[
		{"name":"podsequences","namespaced":true,"kind":"PodSequence"},{"name":"clusterpodsequences","kind":"ClusterPodSequence"}]}`
	onlyPodSequences = `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"scheduling.example.com/v1alpha1","resources":[
		{"name":"podsequences","namespaced":true,"kind":"PodSequence"}]}`
)

// apiServer answers as an API server does: by path, "404 page not found" where nothing is served, and 403 to everything but discovery if the
// user may do nothing.
func apiServer(t *testing.T, mayNothing bool, served map[string]string) Source {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, found := served[r.URL.Path]
		w.Header().Set("Content-Type", "application/json")
		switch {
		case mayNothing && r.URL.Path != groupVersionPath:
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"jane cannot read %s"}`, r.URL.Path)
		case found:
			fmt.Fprint(w, body)
		case strings.HasPrefix(r.URL.Path, groupVersionPath+"/") && served[groupVersionPath] == bothKinds:
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"message":"not found"}`)
		default:
			w.Header().Set("Content-Type", "text/plain")
			http.Error(w, "404 page not found", http.StatusNotFound)
		}
	}))
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL}
	core, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	dynamicClient, err := dynamic.NewForConfig(config)
	require.NoError(t, err)
	return &apiSource{Reader: snapshot.NewReader(core, dynamicClient), core: core, dynamic: dynamicClient}
}

func TestWhatIsNotServedIsNotInstalled(t *testing.T) {
	emptyList := `{"kind":"PodSequenceList","apiVersion":"scheduling.example.com/v1alpha1","metadata":{},"items":[]}`
	tests := map[string]struct {
		mayNothing bool
		served     map[string]string
		args       string
		want       string
		unwanted   string
	}{
		"list, without the kinds":           {args: "get", want: "error: PodSequence is not installed in this cluster", unwanted: "No sequences found"},
		"get, without the kinds":            {args: "get backend", want: "error: PodSequence is not installed in this cluster", unwanted: "does not exist"},
		"cluster, without the kinds":        {args: "get clusterpodsequence/backend", want: "error: PodSequence is not installed in this cluster", unwanted: "does not exist"},
		"tree, without the kinds":           {args: "tree", want: "error: PodSequence is not installed in this cluster"},
		"timeline, without the kinds":       {args: "timeline backend", want: "error: PodSequence is not installed in this cluster"},
		"why, without the kinds":            {args: "why podsequence/backend", want: "error: PodSequence is not installed in this cluster"},
		"forbidden, as the roles went also": {mayNothing: true, args: "get", want: "error: PodSequence is not installed in this cluster", unwanted: "ask for the role"},
		"forbidden": {
			mayNothing: true, served: map[string]string{groupVersionPath: bothKinds}, args: "get", want: "jane cannot read " + groupVersionPath + "/namespaces/shop/podsequences; ask for the role view in namespace shop",
			unwanted: "not installed",
		},
		"installed, and there is no such object": {
			served: map[string]string{groupVersionPath: bothKinds, groupVersionPath + "/namespaces/shop/podsequences": emptyList}, args: "get backend",
			want: "error: PodSequence shop/backend does not exist", unwanted: "not installed",
		},
		"one kind is installed": {
			served: map[string]string{groupVersionPath: onlyPodSequences, groupVersionPath + "/namespaces/shop/podsequences": emptyList}, args: "get",
			want: "note: ClusterPodSequences are not installed in this cluster",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			output := run(apiServer(t, test.mayNothing, test.served), strings.Fields(test.args))
			assert.Contains(t, output, test.want)
			if test.unwanted != "" {
				assert.NotContains(t, output, test.unwanted)
			}
		})
	}
}

func TestAPodIsExplainedWithoutTheKinds(t *testing.T) {
	served := map[string]string{
		"/api/v1/namespaces": `{"kind":"NamespaceList","apiVersion":"v1","metadata":{},"items":[{"metadata":{"name":"shop"}}]}`,
		"/api/v1/namespaces/shop/pods": `{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[{"metadata":{"name":"web","namespace":"shop"},"spec":{"nodeName":"node-1","containers":[{"name":"web"}]},
			"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2026-03-01T11:51:00Z"}]}}]}`,
		"/api/v1/namespaces/shop/events": `{"kind":"EventList","apiVersion":"v1","metadata":{},"items":[]}`,
	}
	for resource, kind := range map[string]string{
		"/apis/apps/v1/namespaces/shop/deployments": "Deployment", "/apis/apps/v1/namespaces/shop/replicasets": "ReplicaSet",
		"/apis/apps/v1/namespaces/shop/statefulsets": "StatefulSet", "/apis/apps/v1/namespaces/shop/daemonsets": "DaemonSet",
		"/apis/batch/v1/namespaces/shop/jobs": "Job", "/api/v1/namespaces/shop/replicationcontrollers": "ReplicationController",
	} {
		served[resource] = `{"kind":"` + kind + `List","apiVersion":"apps/v1","metadata":{},"items":[]}`
	}
	output := run(apiServer(t, false, served), []string{"why", "web"})
	assert.Contains(t, output, "pod web: has been ready on node node-1 for 9m\n")
	assert.Contains(t, output, "note: PodSequence is not installed in this cluster")
}
