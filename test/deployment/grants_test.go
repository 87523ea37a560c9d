package deployment

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/pkg/controllers/podsequence/objectwatch"
	"example.com/podsequence/test/harness/cluster"
)

// action is one thing that may be done, or was.
type action struct {
	program   string
	namespace string
	verb      string
	resource  string // resource[/subresource][.group]
	name      string
}

func (a action) String() string {
	text := fmt.Sprintf("%s: %s %s %s", a.program, a.verb, a.resource, a.name)
	text = strings.TrimSpace(text)
	if a.namespace != "" {
		text += " in " + a.namespace
	}
	return text
}

// grant is the smallest part of a role: one verb on one resource. An empty name or namespace stands for any.
type grant struct{ action }

// request is what the API server's audit log says was asked, and what it answered.
type request struct {
	action
	code int
}

// usedBy reports whether one of the requests needed it, whatever came of that: a lease that is not there yet is looked for.
func (g grant) usedBy(requests []request) bool {
	return slices.ContainsFunc(requests, func(r request) bool {
		return r.code != http.StatusForbidden && r.program == g.program && r.verb == g.verb && r.resource == g.resource &&
			(g.name == "" || r.name == g.name) && (g.namespace == "" || r.namespace == g.namespace)
	})
}

// grantsOf are the permissions that our manifests define for a program. Those that every cluster defines for its
// schedulers are not ours to cut. What groups may wait for is more than what any of them waits for.
func grantsOf(s *site, component string) []grant {
	s.Helper()
	ours := client.MatchingLabels{"app.kubernetes.io/name": "podsequence", "app.kubernetes.io/component": component}
	var clusterRoles rbacv1.ClusterRoleList
	require.NoError(s, s.cluster.API.List(s.Context(), &clusterRoles, ours))
	var roles rbacv1.RoleList
	require.NoError(s, s.cluster.API.List(s.Context(), &roles, ours))

	program := "podsequence-" + component
	var grants []grant
	for _, role := range clusterRoles.Items {
		if role.AggregationRule != nil || role.Labels[objectwatch.AggregationLabel] != "" {
			continue
		}
		grants = append(grants, expand(program, "", role.Rules)...)
	}
	for _, role := range roles.Items {
		grants = append(grants, expand(program, role.Namespace, role.Rules)...)
	}
	return grants
}

func expand(program, namespace string, rules []rbacv1.PolicyRule) []grant {
	var grants []grant
	for _, rule := range rules {
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					for _, name := range names {
						grants = append(grants, grant{action{program, namespace, verb, qualify(resource, group), name}})
					}
				}
			}
		}
	}
	return grants
}

func qualify(resource, group string) string {
	if group == "" {
		return resource
	}
	return resource + "." + group
}

// ourRequests are the requests of both programs for resources so far.
func ourRequests(s *site) []request {
	s.Helper()
	var requests []request
	require.NoError(s, s.cluster.ReadAuditLog(func(r *cluster.Request) {
		if r.Program == "" || r.UserAgent == thief || r.ObjectRef == nil || r.ResponseStatus == nil {
			return
		}
		ref := r.ObjectRef
		requests = append(requests, request{
			action{r.Program, ref.Namespace, r.Verb, qualify(r.Resource(), ref.APIGroup), ref.Name},
			int(r.ResponseStatus.Code),
		})
	}))
	require.NotEmpty(s, requests, "the audit log has nothing of ours")
	return requests
}
