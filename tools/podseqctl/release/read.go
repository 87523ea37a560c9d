package release

import (
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/tools/holds"
)

// ownedBy returns the objects that one of the owners controls.
func ownedBy[T any, P interface {
	*T
	metav1.Object
}](items []T, owners sets.Set[types.UID]) []P {
	var owned []P
	for i := range items {
		object := P(&items[i])
		if owner := metav1.GetControllerOfNoCopy(object); owner != nil && owners.Has(owner.UID) {
			owned = append(owned, object)
		}
	}
	slices.SortFunc(owned, func(a, b P) int { return compareNames(a.GetName(), b.GetName()) })
	return owned
}

// compareNames sorts web-2 before web-10.
func compareNames(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	if a < b {
		return -1
	}
	return 1
}

// readError says what to do about an error of a read.
func readError(err error, what string, w holds.Workload) error {
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%s does not exist in namespace %s: kubectl get %s -n %s lists those that do",
			w, w.Namespace, kinds[w.Kind].resource, w.Namespace)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("read %s: %w; ask for the role edit in namespace %s", what, err, w.Namespace)
	}
	return fmt.Errorf("read %s: %w", what, err)
}
