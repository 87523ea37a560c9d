package order

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// What a release has recorded in status, and what it has left on pods, later releases must understand: a hash that changes makes
// all recorded passes void, and holds pods once more that were released. So what is hashed is written out here. Whoever has to
// change a line of this test has to read the old hashes, too.
func TestHashesAreThoseOfEarlierReleases(t *testing.T) {
	sum := func(before, definition string) string {
		hash := sha256.Sum256([]byte(before + definition))
		return string(hash[:])
	}
	both := func(a, b string) string {
		sorted := [][]byte{[]byte(a), []byte(b)}
		slices.SortFunc(sorted, bytes.Compare)
		return sum("", string(bytes.Join(sorted, nil)))
	}
	shop, anywhere := sum("", "shop"), sum("", "")

	tests := map[string]struct {
		object  string
		cluster bool
		// want is what each hash is made of, before it is cut.
		want func() []string
		// frozen are the hashes as they were written when the test was.
		frozen []string
	}{
		"a list is a chain, whatever names, waits, time-outs, skips and modes are": {
			object: `
metadata: {namespace: shop, name: backend}
spec:
  enforcementMode: Continuous
  suspend: true
  podGroups:
  - {name: Database, pods: [db-1, db-0, db-1], waitDuration: 5s}
  - {podSelector: {matchLabels: {tier: app, area: shop}}, requiredStatus: Ready, minAvailable: 50%, timeout: 1m, onTimeout: Continue}
  - {podSelector: {matchExpressions: [{key: tier, operator: In, values: [web, api]}, {key: old, operator: DoesNotExist}]},
     requiredStatus: Complete, minAvailable: 2, expectedPods: 3, skip: true}
  - {podSelector: {}}
`,
			want: func() []string {
				a := sum(shop, `{"pods":["db-0","db-1"]}`)
				b := sum(a, `{"podSelector":{"matchLabels":{"area":"shop","tier":"app"}},"minAvailable":"50%"}`)
				c := sum(b, `{"podSelector":{"matchExpressions":[{"key":"tier","operator":"In","values":["web","api"]},`+
					`{"key":"old","operator":"DoesNotExist"}]},"requiredStatus":"Complete","minAvailable":2,"expectedPods":3}`)
				return []string{a, b, c, sum(c, `{"podSelector":{}}`)}
			},
			frozen: []string{"169ce14bafe02435", "8e1bad3df5a14da2", "0ef2a7de1e4e01a5", "cb72becac0ffa245"},
		},
		"how long members must be ready counts, also if it is no time": {
			object: `
metadata: {namespace: shop, name: backend}
spec:
  podGroups:
  - {pods: [db], minReadySeconds: 0}
  - {podSelector: {}, minReadySeconds: 30}
`,
			want: func() []string {
				a := sum(shop, `{"pods":["db"],"minReadySeconds":0}`)
				return []string{a, sum(a, `{"podSelector":{},"minReadySeconds":30}`)}
			},
			frozen: []string{"49313bab602ac898", "f100057769e2c696"},
		},
		"what members must reach counts, other than ready": {
			object: `
metadata: {namespace: shop, name: backend}
spec:
  podGroups:
  - {pods: [leader], requiredStatus: Started}
  - {podSelector: {}, requiredStatus: Ready, requiredCondition: example.com/Reachable}
`,
			want: func() []string {
				a := sum(shop, `{"pods":["leader"],"requiredStatus":"Started"}`)
				return []string{a, sum(a, `{"podSelector":{},"requiredCondition":"example.com/Reachable"}`)}
			},
			frozen: []string{"a60e924ccbc605be", "664f210d1c3e8a9a"},
		},
		"on nodes the node selector counts": {
			object: `
metadata: {namespace: shop, name: backend}
spec:
  scope: Node
  podGroups:
  - {podSelector: {matchLabels: {app: driver}}, nodeSelector: {gpu: "true", arch: amd64}}
`,
			want: func() []string {
				return []string{sum(shop, `{"podSelector":{"matchLabels":{"app":"driver"}},"nodeSelector":{"arch":"amd64","gpu":"true"},"scope":"Node"}`)}
			},
			frozen: []string{"c68329cb7086384e"},
		},
		"for another namespace that one counts": {
			object: `
metadata: {namespace: operators, name: backend}
spec: {namespace: shop, podGroups: [{pods: [a]}]}
`,
			want:   func() []string { return []string{sum(shop, `{"pods":["a"]}`)} },
			frozen: []string{"86d7e0433c6713d4"},
		},
		"in a graph those before count, in any order, and equal groups are told apart": {
			object: `
metadata: {namespace: shop, name: backend}
spec:
  podGroups:
  - {name: a, pods: [a], dependsOn: []}
  - {name: b, pods: [b], dependsOn: []}
  - {name: c, pods: [c], dependsOn: [b, a]}
  - {name: again, pods: [a], dependsOn: []}
`,
			want: func() []string {
				a, b := sum(shop, `{"pods":["a"]}`), sum(shop, `{"pods":["b"]}`)
				return []string{a, b, sum(both(a, b), `{"pods":["c"]}`), sum(a, "")}
			},
			frozen: []string{"86d7e0433c6713d4", "f7f056942827bd35", "d68a0545b8e6d027", "406beb49ac426443"},
		},
		"across namespaces these count": {
			cluster: true,
			object: `
metadata: {name: storage}
spec:
  podGroups:
  - {namespaces: [b, a], podSelector: {}}
  - {namespaceSelector: {matchLabels: {team: shop}}, podSelector: {matchLabels: {app: web}}}
`,
			want: func() []string {
				a := sum(anywhere, `{"podSelector":{},"namespaces":["a","b"]}`)
				return []string{a, sum(a, `{"podSelector":{"matchLabels":{"app":"web"}},"namespaceSelector":{"matchLabels":{"team":"shop"}}}`)}
			},
			frozen: []string{"14b932ddb53c91ed", "2276cbbfb2a4ccf3"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			stored := map[string]any{}
			require.NoError(t, yaml.Unmarshal([]byte(test.object), &stored))
			object := Read(stored)
			if test.cluster {
				object = ReadCluster(stored)
			}
			require.Empty(t, object.Unreadable)
			var got, want []string
			for _, g := range Compile(object, nil, time.Time{}).Groups {
				got = append(got, g.Hash)
			}
			for _, hash := range test.want() {
				want = append(want, hex.EncodeToString([]byte(hash)[:8]))
			}
			assert.Equal(t, want, got)
			assert.Equal(t, test.frozen, got)
		})
	}
}
