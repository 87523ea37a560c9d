package objects

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// read makes an object of YAML. Without a kind it is a Certificate, with the metadata of one of generation 2.
func read(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{}}
	asJSON, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(asJSON, &object.Object)) // whole numbers as whole numbers, as clients do
	if object.GetKind() == "" {
		object.SetAPIVersion("cert-manager.io/v1")
		object.SetKind("Certificate")
	}
	if _, found := object.Object["metadata"]; !found {
		object.Object["metadata"] = map[string]any{"name": "tls", "generation": int64(2), "creationTimestamp": "2026-05-01T11:00:00Z"}
	}
	return object
}

func TestObjectsAreJudged(t *testing.T) {
	const noStatus, ready = "spec: {}", `status: {conditions: [{type: Ready, status: "True", lastTransitionTime: "2026-05-01T11:30:00Z"}]}`
	for name, tc := range map[string]struct {
		object, until string
		noSubresource bool
		want          bool
		since         string
		message       string
	}{
		"it exists": {object: noStatus, until: "Exists", want: true},
		"it exists and is being deleted": {object: "metadata: {name: a, deletionTimestamp: '2026-05-01T11:00:00Z'}", until: "Exists",
			message: "it is being deleted"},

		"an object without a status is not current":       {object: noStatus, until: "Current", message: "it has no status yet"},
		"an object with an empty status is not current":   {object: "status: {}", until: "Current", message: "it has no status yet"},
		"a status that is no map is none":                 {object: "status: fine", until: "Current", message: "it has no status yet"},
		"an object of a kind without a status is current": {object: noStatus, until: "Current", noSubresource: true, want: true},
		"no until is Current":                             {object: noStatus, noSubresource: true, want: true},
		"a ConfigMap is current":                          {object: "{apiVersion: v1, kind: ConfigMap}", until: "Current", noSubresource: true, want: true},
		"a CronJob needs no status":                       {object: "{apiVersion: batch/v1, kind: CronJob}", until: "Current", want: true},
		"an object with some status is current":           {object: "status: {phase: Bound}", until: "Current", want: true},
		"an object that is Ready is current":              {object: ready, until: "Current", want: true},
		"a Ready condition that is not True says why":     {object: `status: {conditions: [{type: Ready, status: "False", reason: Pending, message: no issuer}]}`, until: "Current", message: "InProgress: Pending: no issuer"},
		"an old observedGeneration is not current":        {object: "status: {observedGeneration: 1}", until: "Current", message: "InProgress: LatestGenerationNotObserved: Certificate generation is 2, but latest observed generation is 1"},
		"Ready of an older generation is not current": {object: `status: {conditions: [{type: Ready, status: "True", observedGeneration: 1}]}`, until: "Current",
			message: "Ready is True for generation 1, and the object has generation 2"},
		"Ready of this generation is current": {object: `status: {conditions: [{type: Ready, status: "True", observedGeneration: 2}]}`, until: "Current", want: true},
		"a Pod that is Ready of an older generation is current": {object: `{apiVersion: v1, kind: Pod, status: {phase: Running, conditions: [{type: Ready, status: "True", observedGeneration: 1}]}}`,
			until: "Current", want: true},
		"a stalled object has failed":                        {object: `status: {conditions: [{type: Stalled, status: "True", reason: Broken, message: no way}]}`, until: "Current", message: "Failed: Broken: no way"},
		"a status that kstatus cannot read":                  {object: "status: {conditions: 7}", until: "Current", message: "its status cannot be read: "},
		"a Deployment that no controller has seen":           {object: "{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 0}, status: {}}", until: "Current", message: "it has no status.observedGeneration yet"},
		"a StatefulSet of no pods that nobody has seen":      {object: "{apiVersion: apps/v1, kind: StatefulSet, spec: {replicas: 0}, status: {replicas: 0}}", until: "Current", message: "it has no status.observedGeneration yet"},
		"a PodDisruptionBudget that nobody has seen":         {object: "{apiVersion: policy/v1, kind: PodDisruptionBudget, status: {currentHealthy: 0}}", until: "Current", message: "it has no status.observedGeneration yet"},
		"a DaemonSet that no controller has seen":            {object: "{apiVersion: apps/v1, kind: DaemonSet, status: {}}", until: "Current", message: "InProgress: NoObservedGeneration: DaemonSet status.observedGeneration not found"},
		"a definition that is not established":               {object: "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition}", until: "Current", message: "InProgress: Installing: Install in progress"},
		"a definition that is established":                   {object: `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, status: {conditions: [{type: Established, status: "True"}]}}`, until: "Current", want: true},
		"a Job that has not started":                         {object: "{apiVersion: batch/v1, kind: Job}", until: "Current", message: "InProgress: JobNotStarted: Job not started"},
		"a Job that runs is current":                         {object: "{apiVersion: batch/v1, kind: Job, status: {startTime: '2026-05-01T11:00:00Z', active: 1}}", until: "Current", want: true},
		"a Job that runs is not Complete":                    {object: "{apiVersion: batch/v1, kind: Job, status: {startTime: '2026-05-01T11:00:00Z', active: 1}}", until: "Complete", message: "it has no condition Complete yet"},
		"a claim that is not bound":                          {object: "{apiVersion: v1, kind: PersistentVolumeClaim, status: {phase: Pending}}", until: "Current", message: "InProgress: NotBound: PVC is not Bound. phase: Pending"},
		"an object that is being deleted is not current":     {object: "{metadata: {name: a, deletionTimestamp: '2026-05-01T11:00:00Z'}, status: {phase: Bound}}", until: "Current", message: "it is being deleted"},
		"an object that is being deleted has lost its Ready": {object: "{metadata: {name: a, deletionTimestamp: '2026-05-01T11:00:00Z'}, " + ready + "}", until: "Ready", message: "it is being deleted"},

		"a condition that is True":            {object: ready, until: "Ready", want: true, since: "2026-05-01T11:30:00Z"},
		"another condition is True":           {object: ready, until: "Issued", message: "it has no condition Issued yet"},
		"no status":                           {object: noStatus, until: "Ready", message: "it has no condition Ready yet"},
		"conditions that are no list":         {object: "status: {conditions: {Ready: 'True'}}", until: "Ready", message: "it has no condition Ready yet"},
		"conditions that are no maps":         {object: "status: {conditions: [Ready]}", until: "Ready", message: "it has no condition Ready yet"},
		"a condition that is not True":        {object: `status: {conditions: [{type: Ready, status: "False", reason: Pending, message: "no issuer"}]}`, until: "Ready", message: "Ready is False: Pending: no issuer"},
		"a condition that is Unknown":         {object: `status: {conditions: [{type: Ready, status: Unknown}]}`, until: "Ready", message: "Ready is Unknown"},
		"a condition of an older generation":  {object: `status: {observedGeneration: 2, conditions: [{type: Ready, status: "True", observedGeneration: 1}]}`, until: "Ready", message: "Ready is True for generation 1, and the object has generation 2"},
		"a condition of this generation":      {object: `status: {observedGeneration: 1, conditions: [{type: Ready, status: "True", observedGeneration: 2}]}`, until: "Ready", want: true},
		"a status of an older generation":     {object: `status: {observedGeneration: 1, conditions: [{type: Ready, status: "True"}]}`, until: "Ready", message: "Ready is True for generation 1, and the object has generation 2"},
		"a status of an older one, as text":   {object: `status: {observedGeneration: "1", conditions: [{type: Ready, status: "True"}]}`, until: "Ready", message: "Ready is True for generation 1, and the object has generation 2"},
		"an observedGeneration that is unset": {object: `status: {conditions: [{type: Ready, status: "True", observedGeneration: 0}]}`, until: "Ready", want: true},
		"a transition before the creation":    {object: `status: {conditions: [{type: Ready, status: "True", lastTransitionTime: "2026-05-01T10:00:00Z"}]}`, until: "Ready", want: true, since: "2026-05-01T11:00:00Z"},
		"a transition to come":                {object: `status: {conditions: [{type: Ready, status: "True", lastTransitionTime: "2026-05-01T12:00:01Z"}]}`, until: "Ready", want: true},
		"a transition that is no time":        {object: `status: {conditions: [{type: Ready, status: "True", lastTransitionTime: soon}]}`, until: "Ready", want: true},
		"characters that are not printable":   {object: `status: {conditions: [{type: Ready, status: "False", message: "a\nb\u202e"}]}`, until: "Ready", message: `Ready is False: a\nb\u202e`},
	} {
		t.Run(name, func(t *testing.T) {
			got := Judge(read(t, tc.object), tc.until, !tc.noSubresource, now)
			assert.Equal(t, tc.want, got.Satisfied)
			since := ""
			if !got.Since.IsZero() {
				since = got.Since.UTC().Format(time.RFC3339)
			}
			assert.Equal(t, tc.since, since)
			if tc.want {
				assert.Empty(t, got.Message)
			} else if strings.HasSuffix(tc.message, ": ") {
				assert.True(t, strings.HasPrefix(got.Message, tc.message), got.Message)
			} else {
				assert.Equal(t, tc.message, got.Message)
			}
		})
	}
}

func TestMessagesOfObjectsAreCut(t *testing.T) {
	for _, long := range []string{strings.Repeat("é", 5000), strings.Repeat("\x00", 5000), strings.Repeat("a\n", 150)} {
		object := read(t, "spec: {}")
		object.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "False", "message": long}}}
		for _, until := range []string{"Ready", "Current"} {
			message := Judge(object, until, true, now).Message
			assert.Equal(t, maxMessage, utf8.RuneCountInString(message))
			assert.True(t, strings.HasSuffix(message, "…"))
		}
	}
}
