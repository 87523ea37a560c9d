// Package permissionsdoc writes into docs/permissions.md what both programs may do, from the roles that manifests/default binds to them and
// from Kubernetes' own roles.
package permissionsdoc

import (
	"fmt"
	"os"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// What is generated is between these lines of the page.
const (
	begin = "<!-- written by make generate: begin -->\n"
	end   = "<!-- written by make generate: end -->\n"
)

// programs are the ServiceAccounts whose permissions the page lists.
var programs = []string{"podsequence-scheduler", "podsequence-controller"}

// Write writes the tables into the page.
func Write(manifests, page string) error {
	before, err := os.ReadFile(page)
	if err != nil {
		return fmt.Errorf("read page: %w", err)
	}
	after, err := update(manifests, string(before))
	if err != nil {
		return err
	}
	return os.WriteFile(page, []byte(after), 0o644)
}

// update returns the page with the tables that follow from the manifests.
func update(manifests, page string) (string, error) {
	head, rest, found := strings.Cut(page, begin)
	_, tail, ended := strings.Cut(rest, end)
	if !found || !ended {
		return "", fmt.Errorf("the page lacks the lines %q and %q", strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	grants, err := read(manifests)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for _, program := range programs {
		fmt.Fprintf(&text, "\n**%s**\n\n| role | in | may | on |\n|---|---|---|---|\n", program)
		for _, g := range grants[program] {
			for _, rule := range g.rules {
				fmt.Fprintf(&text, "| `%s` | %s | %s | %s |\n", g.role, g.where(), strings.Join(rule.Verbs, ", "), on(rule))
			}
		}
	}
	return head + begin + text.String() + "\n" + end + tail, nil
}

// grant is a role that is bound to a program.
type grant struct {
	role      string
	namespace string // empty: everywhere
	lite      bool   // in lite mode too
	rules     []rbacv1.PolicyRule
}

func (g grant) where() string {
	switch {
	case g.namespace != "":
		return "`" + g.namespace + "`"
	case !g.lite && strings.HasPrefix(g.role, "podsequence-controller"):
		return "everywhere; not in lite mode"
	}
	return "everywhere"
}

// on names what a rule is about.
func on(rule rbacv1.PolicyRule) string {
	var all []string
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			name, subresource, isSubresource := strings.Cut(resource, "/")
			if group != "" {
				name += "." + group
			}
			if isSubresource {
				name += "/" + subresource
			}
			all = append(all, "`"+name+"`")
		}
	}
	for _, url := range rule.NonResourceURLs {
		all = append(all, "`"+url+"`")
	}
	text := strings.Join(all, ", ")
	if len(rule.ResourceNames) > 0 {
		text += ": only `" + strings.Join(rule.ResourceNames, "`, `") + "`"
	}
	return text
}

// manifestsOf are the objects of a kustomization that say who may do what.
type manifestsOf struct {
	roles    map[rbacv1.RoleRef]map[string][]rbacv1.PolicyRule // by namespace; of a ClusterRole ""
	bindings []rbacv1.RoleBinding                              // those of the whole cluster have no namespace
}

// read returns what is bound to each program.
func read(manifests string) (map[string][]grant, error) {
	all, err := render(manifests + "/default")
	if err != nil {
		return nil, err
	}
	lite, err := render(manifests + "/lite")
	if err != nil {
		return nil, err
	}
	all.addKubernetes()
	inLite := map[rbacv1.RoleRef]bool{}
	for _, binding := range lite.bindings {
		inLite[binding.RoleRef] = true
	}
	grants := map[string][]grant{}
	for _, binding := range all.bindings {
		for _, subject := range binding.Subjects {
			if subject.Kind != rbacv1.ServiceAccountKind || !slices.Contains(programs, subject.Name) {
				continue
			}
			of := ""
			if binding.RoleRef.Kind == "Role" {
				of = binding.Namespace
			}
			rules, known := all.roles[binding.RoleRef][of]
			if !known {
				return nil, fmt.Errorf("%s is bound to %s %s, which does not exist", subject.Name, binding.RoleRef.Kind, binding.RoleRef.Name)
			}
			grants[subject.Name] = append(grants[subject.Name], grant{binding.RoleRef.Name, binding.Namespace, inLite[binding.RoleRef], rules})
		}
	}
	for _, program := range programs {
		if len(grants[program]) == 0 {
			return nil, fmt.Errorf("no role is bound to %s", program)
		}
		// Our own roles first.
		slices.SortStableFunc(grants[program], func(a, b grant) int {
			return strings.Compare(rank(a)+a.role, rank(b)+b.role)
		})
	}
	return grants, nil
}

func rank(g grant) string {
	if strings.HasPrefix(g.role, "podsequence-") {
		return "0"
	}
	return "1"
}

func render(kustomization string) (manifestsOf, error) {
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionUnspecified // kustomizations choose their order
	resources, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), kustomization)
	if err != nil {
		return manifestsOf{}, fmt.Errorf("render %s: %w", kustomization, err)
	}
	found := manifestsOf{roles: map[rbacv1.RoleRef]map[string][]rbacv1.PolicyRule{}}
	var clusterRoles []rbacv1.ClusterRole
	for _, resource := range resources.Resources() {
		text, err := resource.AsYAML()
		if err != nil {
			return found, fmt.Errorf("encode %s: %w", resource.CurId(), err)
		}
		switch resource.GetKind() {
		case "ClusterRole":
			var role rbacv1.ClusterRole
			if err := yaml.Unmarshal(text, &role); err != nil {
				return found, fmt.Errorf("decode %s: %w", resource.CurId(), err)
			}
			clusterRoles = append(clusterRoles, role)
		case "Role":
			var role rbacv1.Role
			if err := yaml.Unmarshal(text, &role); err != nil {
				return found, fmt.Errorf("decode %s: %w", resource.CurId(), err)
			}
			found.add(resource.GetKind(), role.Namespace, role.Name, role.Rules)
		case "ClusterRoleBinding", "RoleBinding":
			var binding rbacv1.RoleBinding
			if err := yaml.Unmarshal(text, &binding); err != nil {
				return found, fmt.Errorf("decode %s: %w", resource.CurId(), err)
			}
			found.bindings = append(found.bindings, binding)
		}
	}
	for i := range clusterRoles {
		role := &clusterRoles[i]
		found.add("ClusterRole", "", role.Name, append(role.Rules, aggregated(role, clusterRoles)...))
	}
	return found, nil
}

// aggregated are the rules that kube-controller-manager copies into a role from others.
func aggregated(role *rbacv1.ClusterRole, from []rbacv1.ClusterRole) (rules []rbacv1.PolicyRule) {
	if role.AggregationRule == nil {
		return nil
	}
	for _, selector := range role.AggregationRule.ClusterRoleSelectors {
		for _, other := range from {
			if labels.SelectorFromSet(selector.MatchLabels).Matches(labels.Set(other.Labels)) {
				rules = append(rules, other.Rules...)
			}
		}
	}
	return rules
}

func (m *manifestsOf) add(kind, namespace, name string, rules []rbacv1.PolicyRule) {
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name}
	if m.roles[ref] == nil {
		m.roles[ref] = map[string][]rbacv1.PolicyRule{}
	}
	m.roles[ref][namespace] = rules
}

// addKubernetes adds the roles that every cluster has, of the release that we are built from.
func (m *manifestsOf) addKubernetes() {
	for _, role := range bootstrappolicy.ClusterRoles() {
		m.add("ClusterRole", "", role.Name, role.Rules)
	}
	for namespace, roles := range bootstrappolicy.NamespaceRoles() {
		for _, role := range roles {
			m.add("Role", namespace, role.Name, role.Rules)
		}
	}
}
