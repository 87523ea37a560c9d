package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
)

// The controllers, as --controllers names them.
const (
	podSequences            = "podsequence"
	sequentialJobs          = "sequentialjob"
	podGroups               = "podgroup"
	deploymentCoordinations = "deploymentcoordination"

	allControllers = "*"
	leftOut        = "-" // before the name of a controller
)

var controllerNames = []string{podSequences, sequentialJobs, podGroups, deploymentCoordinations}

// enabledControllers are those that the values of --controllers turn on, as those of kube-controller-manager do. In
// addition, values that only leave out are understood as those that remain, so that independent sources, each of which
// leaves out one, can be put together.
func enabledControllers(values []string) sets.Set[string] {
	enabled := sets.New[string]()
	onlyLeavesOut := !slices.ContainsFunc(values, func(value string) bool { return !strings.HasPrefix(value, leftOut) })
	if onlyLeavesOut || slices.Contains(values, allControllers) {
		enabled.Insert(controllerNames...)
	}
	for _, value := range values {
		if slices.Contains(controllerNames, value) {
			enabled.Insert(value)
		}
	}
	for _, value := range values {
		if name, ok := strings.CutPrefix(value, leftOut); ok {
			enabled.Delete(name)
		}
	}
	return enabled
}

func validateControllers(values []string) error {
	const flag = "controllers"
	if len(values) == 0 {
		return fmt.Errorf("--%s: must not be empty: name controllers to run, or leave the flag out to run all", flag)
	}
	errs := []error{validateNames(flag, values, validateController)}
	for _, name := range controllerNames {
		if slices.Contains(values, name) && slices.Contains(values, leftOut+name) {
			errs = append(errs, fmt.Errorf("--%s: %q is both turned on and left out: remove one of them", flag, name))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if len(enabledControllers(values)) == 0 {
		return fmt.Errorf("--%s: every controller is left out: keep at least one of %s", flag, strings.Join(controllerNames, ", "))
	}
	return nil
}

func validateController(value string) error {
	if value == allControllers || slices.Contains(controllerNames, strings.TrimPrefix(value, leftOut)) {
		return nil
	}
	return fmt.Errorf("%q is not a controller: the controllers are %s; %s stands for all of them, and a %s before a name leaves it out",
		value, strings.Join(controllerNames, ", "), allControllers, leftOut)
}
