package workloads

import (
	"fmt"
	"strings"
)

// definitions are those of kinds whose controllers the tests play. They take any spec and status.
func definitions() string {
	var text strings.Builder
	for _, kind := range []struct{ group, version, kind, plural string }{
		{"leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet", "leaderworkersets"},
		{"jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets"},
		{"ray.io", "v1", "RayCluster", "rayclusters"},
	} {
		fmt.Fprintf(&text, `
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[4]s.%[1]s, annotations: {api-approved.kubernetes.io: unapproved}}
spec:
  group: %[1]s
  names: {kind: %[3]s, listKind: %[3]sList, plural: %[4]s, singular: %[5]s}
  scope: Namespaced
  versions:
  - name: %[2]s
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
`, kind.group, kind.version, kind.kind, kind.plural, strings.ToLower(kind.kind))
	}
	return text.String()
}
