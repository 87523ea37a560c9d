// charts writes what the Helm charts have in common with the kustomizations: the kinds, permissions, policies, services and
// alert rules. What operators set by values, such as the Deployments, is written by hand in charts/; a test compares both.
//
//	go -C hack/charts run .
//
// Which values an object depends on follows from the kustomizations: what manifests/lite lacks is not in lite mode, what
// manifests/options/without/sequentialjob takes out needs that feature, and so on.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/resource"
)

const (
	manifests = "../../manifests"
	charts    = "../../charts"
)

// features are those that can be left out, by component under manifests/options/without and by value.
var features = []struct{ component, value string }{
	{"podsequence", "podSequence"},
	{"sequentialjob", "sequentialJob"},
	{"podgroup", "podGroup"},
	{"deploymentcoordination", "deploymentCoordination"},
}

// policies are those that the API server must be new enough for, by directory under manifests/parts/policies and by value.
var policies = []struct{ directory, value string }{
	{"routing", "routing"},
	{"gating", "gating"},
	{"opt-in", "optIn"},
	{"deploymentcoordination", "deploymentCoordination"},
}

// kueue is what options/kueue adds, but for an argument.
const kueue = "parts/kueue"

// everything is what all modes install: what default does, what only lite mode has, and what is off unless somebody turns it on.
var everything = []string{"default", "parts/policies/gating", kueue}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run() error {
	whole, err := render(everything)
	if err != nil {
		return err
	}
	conditions, err := findConditions()
	if err != nil {
		return err
	}
	kinds, objects := templates{}, templates{}
	for _, object := range whole.Resources() {
		switch {
		case object.GetKind() == "CustomResourceDefinition":
			err = kinds.add(object.GetName()+".yaml", object, conditions.of(object, "features"))
		case !byHand(object):
			err = objects.add(fileOf(object), object, conditions.of(object, ""))
		}
		if err != nil {
			return err
		}
	}
	if err := kinds.write(filepath.Join(charts, "podsequence-crds", "templates", "generated")); err != nil {
		return err
	}
	if err := objects.write(filepath.Join(charts, "podsequence", "templates", "generated")); err != nil {
		return err
	}
	for _, chart := range []string{"podsequence-crds", "podsequence"} {
		if err := writeDefaults(filepath.Join(charts, chart)); err != nil {
			return err
		}
	}
	return writeMonitoring(filepath.Join(charts, "podsequence", "files"))
}

// byHand reports whether the template of an object is written by hand: those that operators set most of, and the namespace,
// which Helm creates.
func byHand(object *resource.Resource) bool {
	return slices.Contains([]string{"Namespace", "Deployment", "ConfigMap", "ResourceQuota"}, object.GetKind())
}

// conditions are the values that objects depend on: by object, in a fixed order.
type conditions map[string][]condition

type condition struct {
	// group of values that it belongs to.
	group string
	// holds is a term of Helm's template language.
	holds string
}

// findConditions renders the kustomizations that lack something, and notes who is not there.
func findConditions() (conditions, error) {
	whole, err := render(everything)
	if err != nil {
		return nil, err
	}
	found := conditions{}
	without := func(group, holds string, bases []string, components ...string) error {
		rest, err := render(bases, components...)
		if err != nil {
			return err
		}
		for _, object := range whole.Resources() {
			if _, err := rest.GetById(object.CurId()); err != nil {
				id := object.CurId().String()
				found[id] = append(found[id], condition{group, holds})
			}
		}
		return nil
	}
	if err := without("lite", "(not .Values.lite)", []string{"lite", kueue}); err != nil {
		return nil, err
	}
	if err := without("lite", ".Values.lite", []string{"default", kueue}); err != nil {
		return nil, err
	}
	for _, feature := range features {
		if err := without("features", ".Values.features."+feature.value, everything, "options/without/"+feature.component); err != nil {
			return nil, err
		}
	}
	if err := without("features", ".Values.features.kueueAdmissionCheck", []string{"default", "parts/policies/gating"}); err != nil {
		return nil, err
	}
	// Values of an earlier release lack this one. Then the binding stays.
	jobsEverywhere := `(ne (toString .Values.features.jobsEverywhere) "false")`
	if err := without("features", jobsEverywhere, everything, "options/without/jobs-everywhere"); err != nil {
		return nil, err
	}
	for _, policy := range policies {
		holds := fmt.Sprintf("(include %q (list $ %q))", "podsequence.policy", policy.value)
		if err := without("policies", holds, everything, "options/without/"+policy.directory+"-policy"); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// of returns what must hold for an object to be there, of one group of values or, if that is "", of all.
func (c conditions) of(object *resource.Resource, group string) []string {
	var terms []string
	for _, condition := range c[object.CurId().String()] {
		if group == "" || condition.group == group {
			terms = append(terms, condition.holds)
		}
	}
	if object.GetKind() == "NetworkPolicy" {
		terms = append(terms, ".Values.networkPolicies.enabled")
	}
	return terms
}

// fileOf is the template that an object is put into, by what it is for and by whose it is.
func fileOf(object *resource.Resource) string {
	purpose := "objects"
	switch gvk := object.GetGvk(); {
	case gvk.Group == "rbac.authorization.k8s.io", gvk.Kind == "ServiceAccount":
		purpose = "permissions"
	case strings.HasPrefix(gvk.Kind, "Mutating"):
		purpose = "mutating-policies"
	case strings.HasPrefix(gvk.Kind, "Validating"):
		purpose = "validating-policies"
	}
	if component := object.GetLabels()["app.kubernetes.io/component"]; component != "" {
		return component + "-" + purpose + ".yaml"
	}
	return purpose + ".yaml"
}
