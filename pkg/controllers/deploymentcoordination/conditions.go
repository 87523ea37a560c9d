package deploymentcoordination

import (
	"fmt"
	"slices"
	"strings"
)

// maxNames is how many Deployments a message names.
const maxNames = 5

// list names the first few.
func list(names []string) string {
	if more := len(names) - maxNames; more > 0 {
		names = append(slices.Clone(names[:maxNames]), fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

func count(deployments int) string {
	if deployments == 1 {
		return "1 Deployment"
	}
	return fmt.Sprintf("%d Deployments", deployments)
}
