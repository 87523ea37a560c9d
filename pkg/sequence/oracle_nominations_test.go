package sequence

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// checkNominations sees that room is given back for exactly those pods of our scheduler that must wait, and that this is reported when
// a pod has to wait from now on, and when it comes with another version.
func (c *comparison) checkNominations(changes Changes, before, after answers) error {
	told := sets.New(changes.Nominated...)
	for _, p := range c.oracle.pods {
		key := types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
		now, waits := after.pods[p.UID]
		want := waits && now.held && p.Spec.SchedulerName == oracleScheduler && p.Status.NominatedNodeName != ""
		if got := c.engine.Nomination(key); (got.UID == p.UID) != want || (want && got.ResourceVersion != p.ResourceVersion) {
			return fmt.Errorf("%s: its nomination is %+v, want one of version %s: %t", p.Name, got, p.ResourceVersion, want)
		}
		previous := c.previous[p.UID]
		isNews := previous == nil || previous.ResourceVersion != p.ResourceVersion || !before.pods[p.UID].held
		switch {
		case told.Has(key) && !want:
			return fmt.Errorf("%s is told to have a nomination to be cleared, and has none", p.Name)
		case want && isNews && !told.Has(key):
			return fmt.Errorf("%s must wait and has a nomination, and it is not told", p.Name)
		}
		told.Delete(key)
	}
	for key := range told {
		return fmt.Errorf("%s is told to have a nomination, and is not there", key)
	}
	return nil
}
