package deployment

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
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

// usedBy tells whether one of the requests needed it, whatever came of that: a lease that is not there yet is looked for.
func (g grant) usedBy(requests []request) bool {
	return slices.ContainsFunc(requests, func(r request) bool {
		return r.code != http.StatusForbidden && r.program == g.program && r.verb == g.verb && r.resource == g.resource &&
			(g.name == "" || r.name == g.name) && (g.namespace == "" || r.namespace == g.namespace)
	})
}

// grantsOf are the permissions that our manifests define for a program. Those that every cluster defines for its
// schedulers are not ours to cut.
func grantsOf(t *testing.T, component string) []grant {
	t.Helper()
	ours := client.MatchingLabels{"app.kubernetes.io/name": "podsequence", "app.kubernetes.io/component": component}
	var clusterRoles rbacv1.ClusterRoleList
	require.NoError(t, api.List(t.Context(), &clusterRoles, ours))
	var roles rbacv1.RoleList
	require.NoError(t, api.List(t.Context(), &roles, ours))

	program := "podsequence-" + component
	var grants []grant
	for _, role := range clusterRoles.Items {
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
func ourRequests(t *testing.T) []request {
	t.Helper()
	log, err := os.Open(cluster.AuditLog())
	require.NoError(t, err)
	defer func() { _ = log.Close() }()
	var requests []request
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event auditv1.Event
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			continue // the last line may be half written
		}
		program, ours := strings.CutPrefix(event.User.Username, "system:serviceaccount:"+systemNamespace+":")
		if !ours || event.UserAgent == thief || event.ObjectRef == nil || event.ResponseStatus == nil {
			continue
		}
		ref := event.ObjectRef
		resource := ref.Resource
		if ref.Subresource != "" {
			resource += "/" + ref.Subresource
		}
		requests = append(requests, request{
			action{program, ref.Namespace, event.Verb, qualify(resource, ref.APIGroup), ref.Name},
			int(event.ResponseStatus.Code),
		})
	}
	require.NoError(t, lines.Err())
	require.NotEmpty(t, requests, "the audit log has nothing of ours")
	return requests
}
