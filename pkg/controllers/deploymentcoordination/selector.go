package deploymentcoordination

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	v1 "example.com/podsequence/apis/apps/v1"
)

// errNoSelector says of an object that another operator of this API allowed that it does nothing. What it was to select nobody knows.
var errNoSelector = errors.New("spec.labelSelector is missing, so this object selects no Deployments: say which, or delete the object")

// asSelector fails only for objects that were stored before the API server checked them.
func asSelector(in *v1.LabelSelector) (labels.Selector, error) {
	if in == nil {
		return nil, errNoSelector
	}
	out := &metav1.LabelSelector{}
	for key, value := range in.MatchLabels {
		metav1.AddLabelToSelector(out, key, string(value))
	}
	for _, e := range in.MatchExpressions {
		requirement := metav1.LabelSelectorRequirement{Key: e.Key, Operator: metav1.LabelSelectorOperator(e.Operator)}
		for _, value := range e.Values {
			requirement.Values = append(requirement.Values, string(value))
		}
		out.MatchExpressions = append(out.MatchExpressions, requirement)
	}
	selector, err := metav1.LabelSelectorAsSelector(out)
	if err != nil {
		return nil, fmt.Errorf("read labelSelector: %w", err)
	}
	return selector, nil
}
