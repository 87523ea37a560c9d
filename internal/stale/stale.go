// Package stale recognizes writes that the API server refuses because they were made for an older state of an object.
package stale

import (
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// IsConflict reports whether the API server refused a write because the object has changed, or because its name belongs to another
// object now. The API server says the latter in two ways: 409 for a precondition and, for a patch of a built-in kind that has
// metadata.uid, 422.
func IsConflict(err error) bool { return apierrors.IsConflict(err) || isOfAnother(err) }

// isOfAnother reports whether a patch named the UID of another object.
func isOfAnother(err error) bool {
	answer := apierrors.APIStatus(nil)
	if !apierrors.IsInvalid(err) || !errors.As(err, &answer) || answer.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(answer.Status().Details.Causes, func(cause metav1.StatusCause) bool { return cause.Field == "metadata.uid" })
}
