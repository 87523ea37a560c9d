package report

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/spec"
)

func TestStatusNamesTheGroupsThatAreOpenToTenants(t *testing.T) {
	var first spec.GroupSet
	first.Add(0)
	r := Report{Groups: []Group{{Title: "Proxies"}, {Title: "Rest"}}}
	conditionOf := func(r Report, before v1alpha1.PodSequenceStatus) *metav1.Condition {
		status := r.Status(&v1alpha1.PodSequence{Status: before}, time.Unix(1000, 0))
		return meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionOpenToTenants)
	}
	assert.Nil(t, conditionOf(r, v1alpha1.PodSequenceStatus{}), "there never was such a group")

	open := r
	open.OpenToTenants = first
	condition := conditionOf(open, v1alpha1.PodSequenceStatus{})
	require.NotNil(t, condition)
	assert.Equal(t, metav1.ConditionTrue, condition.Status)
	assert.Equal(t, v1alpha1.ReasonNamespacesOfOthers, condition.Reason)
	assert.Contains(t, condition.Message, `other groups wait for group 1/2 "Proxies", whose namespaceSelector`)
	assert.NotContains(t, condition.Message, "spec.nodeName")

	open.PerNode = true
	assert.Contains(t, conditionOf(open, v1alpha1.PodSequenceStatus{}).Message, "also on nodes of their choice by spec.nodeName")

	condition = conditionOf(r, v1alpha1.PodSequenceStatus{Conditions: []metav1.Condition{*condition}})
	require.NotNil(t, condition, "it was true")
	assert.Equal(t, metav1.ConditionFalse, condition.Status)
}
