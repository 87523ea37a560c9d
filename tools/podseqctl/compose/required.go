package compose

import (
	"github.com/compose-spec/compose-go/v2/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// conditions are those of depends_on, from the weakest to the strictest: a pod that has completed counts as ready, and one that is
// ready has started.
var conditions = []struct {
	name     string
	required v1alpha1.RequiredStatus
}{
	{types.ServiceConditionStarted, v1alpha1.RequireStarted},
	{types.ServiceConditionHealthy, v1alpha1.RequireReady},
	{types.ServiceConditionCompletedSuccessfully, v1alpha1.RequireComplete},
}
