package stale

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestIsConflict(t *testing.T) {
	// What the API server answers to a patch: the validation of metadata that all built-in kinds share.
	patched := func(change func(*metav1.ObjectMeta)) error {
		before := metav1.ObjectMeta{Name: "migrate", Namespace: "shop", UID: "1", ResourceVersion: "7"}
		after := before
		change(&after)
		return apierrors.NewInvalid(batchv1.SchemeGroupVersion.WithKind("Job").GroupKind(), "migrate",
			validation.ValidateObjectMetaUpdate(&after, &before, field.NewPath("metadata")))
	}
	anotherUID := patched(func(after *metav1.ObjectMeta) { after.UID = "2" })
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"no error":                             {},
		"an older version":                     {err: apierrors.NewConflict(batchv1.Resource("jobs"), "migrate", errors.New("it has changed")), want: true},
		"the UID of another object":            {err: anotherUID, want: true},
		"the UID of another object, wrapped":   {err: fmt.Errorf("patch Job: %w", anotherUID), want: true},
		"another change that is not allowed":   {err: patched(func(after *metav1.ObjectMeta) { after.Namespace = "other" })},
		"an answer without details":            {err: &apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonInvalid}}},
		"an answer of an admission policy":     {err: apierrors.NewForbidden(batchv1.Resource("jobs"), "migrate", errors.New("frozen"))},
		"an API server that cannot be reached": {err: errors.New("connection refused")},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, IsConflict(tc.err))
		})
	}
}
