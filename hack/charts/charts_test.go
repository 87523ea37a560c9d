package main

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
)

func TestTheChartsInstallWhatTheKustomizationsDo(t *testing.T) {
	t.Parallel()
	allPolicies := []string{"options/without/routing-policy", "options/without/opt-in-policy", "options/without/deploymentcoordination-policy"}
	for name, test := range map[string]struct {
		base       string
		components []string
		values     values
		kinds      values
		kubernetes string
	}{
		"everything": {base: "default"},
		"lite mode":  {base: "lite", values: values{"lite": true}},
		"lite mode, the gate is added to no pod": {
			base: "lite", components: []string{"options/without/gating-policy"},
			values: values{"lite": true, "policies": values{"gating": false}},
		},
		"lite mode on an API server without mutating policies": {
			base: "lite", components: []string{"options/without/mutating-policies"}, kubernetes: "v1.35.3", values: values{"lite": true},
		},
		"no feature but PodSequences": {
			base:       "default",
			components: []string{"options/without/sequentialjob", "options/without/podgroup", "options/without/deploymentcoordination"},
			values:     values{"features": values{"sequentialJob": false, "podGroup": false, "deploymentCoordination": false}},
			kinds:      values{"sequentialJob": false, "deploymentCoordination": false},
		},
		"lite mode without SequentialJobs": {
			base: "lite", components: []string{"options/without/sequentialjob"},
			values: values{"lite": true, "features": values{"sequentialJob": false}},
			kinds:  values{"sequentialJob": false},
		},
		"with Kueue": {
			base: "default", components: []string{"options/kueue"}, values: values{"features": values{"kueueAdmissionCheck": true}},
		},
		"lite mode with Kueue": {
			base: "lite", components: []string{"options/kueue"},
			values: values{"lite": true, "features": values{"kueueAdmissionCheck": true}},
		},
		"Jobs only where a RoleBinding allows them": {
			base: "default", components: []string{"options/without/jobs-everywhere"},
			values: values{"features": values{"jobsEverywhere": false}},
		},
		"no PodSequences": {
			base: "default", components: []string{"options/without/podsequence"},
			values: values{"features": values{"podSequence": false}},
			kinds:  values{"podSequence": false},
		},
		"an API server without mutating policies": {base: "default", components: allPolicies, kubernetes: "v1.35.3"},
		"a provider's API server of 1.36":         {base: "default", kubernetes: "v1.36.0-gke.1"},
		"mutating policies are turned off": {
			base: "default", components: allPolicies,
			values: values{"policies": values{"routing": false, "optIn": false, "deploymentCoordination": false}},
		},
		"one policy is turned off, the others on, whatever the API server": {
			base: "default", components: []string{"options/without/opt-in-policy"}, kubernetes: "v1.34.0",
			values: values{"policies": values{"routing": true, "optIn": false, "deploymentCoordination": true}},
		},
		"traffic from the pods is limited": {
			base: "default", components: []string{"options/egress"},
			values: values{"networkPolicies": values{"egress": values{"enabled": true}}},
		},
		"pods that nobody would hold are refused": {
			base: "default", components: []string{"options/refuse-unheld-pods"},
			values: values{"policies": values{"refuseUnheldPods": "Deny"}},
		},
		"pods that nobody would hold are refused in lite mode": {
			base: "lite", components: []string{"options/refuse-unheld-pods"},
			values: values{"lite": true, "policies": values{"refuseUnheldPods": "Deny"}},
		},
		"monitoring": {
			base: "default", components: []string{"options/monitoring"},
			values: values{"monitoring": values{
				"serviceMonitor": values{"enabled": true}, "prometheusRule": values{"enabled": true}, "dashboard": values{"enabled": true},
			}},
		},
		"monitoring that verifies the certificates": {
			base: "default", components: []string{"options/monitoring", "options/certificates"},
			values: values{
				"metricsCertificate": values{"secretName": "podsequence-metrics-tls"},
				"monitoring": values{
					"serviceMonitor": values{"enabled": true}, "prometheusRule": values{"enabled": true}, "dashboard": values{"enabled": true},
				},
			},
		},
		"certificates in lite mode, without monitoring": {
			base: "lite", components: []string{"options/certificates"},
			values: values{"lite": true, "metricsCertificate": values{"secretName": "podsequence-metrics-tls"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := install{chart: "podsequence", kubernetes: test.kubernetes, values: images(test.values)}.objects(t)
			kinds := install{chart: "podsequence-crds", kubernetes: test.kubernetes, values: values{"features": test.kinds}}
			if test.kinds == nil {
				kinds.values = nil
			}
			maps.Copy(got, kinds.objects(t))
			expectSame(t, withImages(kustomized(t, test.base, test.components...)), got)
		})
	}
}

// A gate that may not be lifted would hold pods permanently.
func TestTheGateIsAddedOnlyIfItMayBeLifted(t *testing.T) {
	t.Parallel()
	const gating = "admissionregistration.k8s.io/v1 MutatingAdmissionPolicy gating.podsequence.example.com"
	for prefix, added := range map[string]bool{"podsequence.example.com/": true, "order.example.org/": false} {
		for _, wanted := range []any{"auto", true} {
			objects := install{chart: "podsequence", values: values{
				"lite": true, "gatePrefixes": []any{prefix}, "policies": values{"gating": wanted},
			}}.objects(t)
			assert.Equal(t, added, objects[gating] != nil, "%s, %v", prefix, wanted)
		}
	}
}

// Policies name ServiceAccounts by namespace, so a namespace must be the same in all places.
func TestAnotherNamespaceIsUsedThroughout(t *testing.T) {
	t.Parallel()
	everything := values{"ownNamespace": true, "monitoring": values{
		"serviceMonitor": values{"enabled": true}, "prometheusRule": values{"enabled": true}, "dashboard": values{"enabled": true},
	}}
	want := install{chart: "podsequence", values: everything}.objects(t)
	got := install{chart: "podsequence", namespace: "start-up", values: everything}.objects(t)
	for name, o := range want {
		content, err := json.Marshal(o)
		require.NoError(t, err)
		var moved object
		require.NoError(t, json.Unmarshal([]byte(strings.ReplaceAll(string(content), namespace, "start-up")), &moved))
		found := got[nameOf(moved)]
		require.NotNil(t, found, name)
		if o["kind"] == "Deployment" { // the configuration has the namespace in it
			normalizeDeployment(moved)
			normalizeDeployment(found)
		}
		content, err = json.Marshal(found)
		require.NoError(t, err)
		assert.NotContains(t, string(content), namespace, name)
		text, err := json.Marshal(moved)
		require.NoError(t, err)
		assert.JSONEq(t, string(text), string(content), name)
	}
	assert.Len(t, got, len(want))
}

// A quota counts the pods of everybody in the namespace, and a Pod Security level is for all of them.
func TestWhatReachesAWholeNamespaceIsOnlyInOneOfOurOwn(t *testing.T) {
	t.Parallel()
	const label = "pod-security.kubernetes.io/enforce=restricted"
	for name, test := range map[string]struct {
		namespace string
		own       any
		want      bool
		wantErr   string
	}{
		"ours by name":                           {namespace: "podsequence-system", own: "auto", want: true},
		"ours by name, and shared all the same":  {namespace: "podsequence-system", own: false},
		"any other":                              {namespace: "platform", own: "auto"},
		"any other, and the operator says so":    {namespace: "platform", own: true, want: true},
		"kube-system":                            {namespace: "kube-system", own: "auto"},
		"kube-system, and the operator is wrong": {namespace: "kube-system", own: true, wantErr: "kube-system is not PodSequence's own"},
		"default, and the operator is wrong":     {namespace: "default", own: true, wantErr: "default is not PodSequence's own"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			release := install{chart: "podsequence", namespace: test.namespace, values: values{"ownNamespace": test.own}}
			rendered, err := release.render(t)
			if test.wantErr != "" {
				assert.ErrorContains(t, err, test.wantErr)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, test.want, release.objects(t)["v1 ResourceQuota "+test.namespace+"/podsequence-critical-pods"] != nil)
			notes := rendered["podsequence/templates/NOTES.txt"]
			assert.Equal(t, test.want, strings.Contains(notes, label), notes)
			assert.NotEqual(t, test.want, strings.Contains(notes, "No ResourceQuota was created"), notes)
		})
	}
}

func TestGatesAndTheSchedulersNameReachAllThatUseThem(t *testing.T) {
	t.Parallel()
	objects := install{chart: "podsequence", values: values{
		"schedulerName": "in-order",
		"gatePrefixes":  []any{"podsequence.example.com/", "order.example.org/"},
		"explainWaits":  false, "unprobedReadySeconds": 0,
	}}.objects(t)
	text := func(name string) string {
		require.Contains(t, objects, name)
		content, err := json.Marshal(objects[name])
		require.NoError(t, err)
		return string(content)
	}
	const policy = "admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy "
	const mutating = "admissionregistration.k8s.io/v1 MutatingAdmissionPolicy "
	const both = "(gate.name.startsWith('podsequence.example.com/') || gate.name.startsWith('order.example.org/'))"
	for _, name := range []string{policy + "podsequence-scheduler-pods", policy + "podsequence-controller-pods"} {
		assert.Contains(t, text(name), `!`+both)
	}
	assert.Contains(t, text(mutating+"routing.podsequence.example.com"), "exists(gate, "+both+")")
	lite := install{chart: "podsequence", values: values{
		"lite": true, "gatePrefixes": []any{"podsequence.example.com/", "order.example.org/"},
	}}.objects(t)
	content, err := json.Marshal(lite[mutating+"gating.podsequence.example.com"])
	require.NoError(t, err)
	assert.Contains(t, string(content), "!object.spec.schedulingGates.exists(gate, "+both+")")
	for _, name := range []string{"routing", "opt-in"} {
		assert.Contains(t, text(mutating+name+".podsequence.example.com"), "value: 'in-order'")
	}
	controller := text("apps/v1 Deployment podsequence-system/podsequence-controller")
	assert.Contains(t, controller, `"--scheduler-names=in-order"`)
	assert.Contains(t, controller, `"--gate-prefixes=podsequence.example.com/,order.example.org/"`)
	assert.Contains(t, controller, `"--explain-waits=false"`)
	assert.Contains(t, controller, `"--unprobed-ready-seconds=0"`)
	scheduler := decode(t, objects[config]["data"].(object)["scheduler-config.yaml"].(string))[0]
	profile := scheduler["profiles"].([]any)[0].(object)
	assert.Equal(t, "in-order", profile["schedulerName"])
	assert.Equal(t, object{
		"gatePrefixes": []any{"podsequence.example.com/", "order.example.org/"}, "explainWaits": false,
		"installationNamespace": "podsequence-system", "unprobedReadySeconds": float64(0),
	}, profile["pluginConfig"].([]any)[0].(object)["args"])
}

func TestPodsAreAsOperatorsSay(t *testing.T) {
	t.Parallel()
	digest := "sha256:" + strings.Repeat("a", 64)
	objects := install{chart: "podsequence", values: values{
		"image":             values{"repository": "127.0.0.1:5000/team/podsequence", "tag": "v2", "pullPolicy": "Always", "pullSecrets": []any{values{"name": "key"}}},
		"priorityClassName": "",
		"scheduler": values{
			"image":       values{"digest": digest},
			"replicas":    3,
			"resources":   values{"limits": values{"memory": "512Mi"}},
			"tolerations": []any{values{"operator": "Exists"}}, "affinity": values{"nodeAffinity": values{}},
			"podLabels": values{"team": "platform"}, "podAnnotations": values{"note": "1"}, "extraArgs": []any{"--feature-gates=A=true"},
		},
		"controller": values{"goMemoryLimit": "700MiB", "nodeSelector": values{"pool": "infra"}},
	}}.objects(t)
	assert.NotContains(t, objects, "v1 ResourceQuota podsequence-system/podsequence-critical-pods")
	deployment := func(name string) (object, object, object) {
		o := objects["apps/v1 Deployment podsequence-system/podsequence-"+name]
		template := o["spec"].(object)["template"].(object)
		spec := template["spec"].(object)
		return o, template, spec["containers"].([]any)[0].(object)
	}
	o, template, container := deployment("scheduler")
	assert.EqualValues(t, 3, o["spec"].(object)["replicas"])
	assert.Equal(t, "127.0.0.1:5000/team/podsequence-scheduler:v2@"+digest, container["image"])
	assert.Equal(t, "Always", container["imagePullPolicy"])
	assert.Contains(t, container["args"], "--feature-gates=A=true")
	assert.Contains(t, container["env"], object{"name": "GOMEMLIMIT", "value": "460MiB"})
	assert.Equal(t, "platform", template["metadata"].(object)["labels"].(object)["team"])
	assert.Equal(t, "1", template["metadata"].(object)["annotations"].(object)["note"])
	spec := template["spec"].(object)
	assert.NotContains(t, spec, "priorityClassName")
	assert.Equal(t, []any{object{"name": "key"}}, spec["imagePullSecrets"])
	migration := object{"key": "podsequence.example.com/migration", "operator": "Exists", "effect": "NoSchedule"}
	assert.Equal(t, []any{migration, object{"operator": "Exists"}}, spec["tolerations"])
	assert.Contains(t, spec, "affinity")
	assert.NotContains(t, o["spec"].(object)["selector"].(object)["matchLabels"], "team")

	_, template, container = deployment("controller")
	assert.Equal(t, "127.0.0.1:5000/team/podsequence-controller:v2", container["image"])
	assert.Contains(t, container["env"], object{"name": "GOMEMLIMIT", "value": "700MiB"})
	assert.Equal(t, object{"kubernetes.io/os": "linux", "pool": "infra"}, template["spec"].(object)["nodeSelector"])
}

func TestValuesThatNobodyMeansAreRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		chart string
		value values
		want  string
	}{
		"a value that does not exist":         {"podsequence", values{"replicas": 3}, "replicas"},
		"a feature that does not exist":       {"podsequence", values{"features": values{"sequentialjob": false}}, "sequentialjob"},
		"a gate prefix without a slash":       {"podsequence", values{"gatePrefixes": []any{"example.org"}}, "/gatePrefixes/0"},
		"a readiness time that is too long":   {"podsequence", values{"unprobedReadySeconds": 3601}, "/unprobedReadySeconds"},
		"no gate prefix":                      {"podsequence", values{"gatePrefixes": []any{}}, "/gatePrefixes"},
		"a digest as the tag":                 {"podsequence", values{"image": values{"tag": "sha256:12"}}, "/image/tag"},
		"a digest that is too short":          {"podsequence", values{"scheduler": values{"image": values{"digest": "sha256:12"}}}, "/scheduler/image/digest"},
		"a scheduler's name that cannot be":   {"podsequence", values{"schedulerName": "In Order"}, "/schedulerName"},
		"a policy that is neither on nor off": {"podsequence", values{"policies": values{"routing": "maybe"}}, "/policies/routing"},
		"a kind that does not exist":          {"podsequence-crds", values{"features": values{"podGroup": true}}, "podGroup"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := install{chart: test.chart, values: test.value}.render(t)
			assert.ErrorContains(t, err, test.want)
		})
	}
}

func TestNotesSayWhatToDoNext(t *testing.T) {
	t.Parallel()
	notes := func(kubernetes string, v values) string {
		rendered, err := install{chart: "podsequence", kubernetes: kubernetes, values: v}.render(t)
		require.NoError(t, err)
		return rendered["podsequence/templates/NOTES.txt"]
	}
	const (
		label     = "podsequence.example.com/sequence: NAME"
		scheduler = "schedulerName: podsequence-scheduler"
		gate      = "- name: podsequence.example.com/sequence-gate"
		lacks     = "has no MutatingAdmissionPolicies"
	)
	for _, test := range []struct {
		kubernetes  string
		lite        bool
		want, avoid []string
	}{
		{"v1.37.1", false, []string{label}, []string{scheduler, gate, lacks}},
		{"v1.37.1", true, []string{label}, []string{scheduler, gate, lacks}},
		{"v1.35.0", false, []string{label, scheduler, lacks}, []string{gate}},
		{"v1.35.0", true, []string{label, gate, lacks}, []string{scheduler}},
	} {
		said := notes(test.kubernetes, values{"lite": test.lite})
		for _, text := range test.want {
			assert.Contains(t, said, text)
		}
		for _, text := range test.avoid {
			assert.NotContains(t, said, text)
		}
	}
}

func TestNotesHaveTheCommandsThatRemoveARelease(t *testing.T) {
	t.Parallel()
	for chart, command := range map[string]string{"podsequence": "undeploy", "podsequence-crds": "uninstall"} {
		rendered, err := install{chart: chart}.render(t)
		require.NoError(t, err)
		assert.Contains(t, rendered[chart+"/templates/NOTES.txt"],
			"helm get manifest podsequence -n "+namespace+" | podsequence-controller "+command+" -f -")
	}
}

func TestHelmFindsNothingToComplainAbout(t *testing.T) {
	t.Parallel()
	for _, chart := range []string{"podsequence", "podsequence-crds"} {
		version, err := common.ParseKubeVersion("v1.37.1")
		require.NoError(t, err)
		for _, message := range lint.RunAll(filepath.Join(charts, chart), nil, namespace, lint.WithKubeVersion(version)).Messages {
			if message.Severity >= support.WarningSev {
				assert.Fail(t, message.Error(), chart)
			}
		}
	}
}
