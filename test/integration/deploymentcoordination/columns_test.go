package deploymentcoordination

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"

	v1 "example.com/podsequence/apis/apps/v1"
	"example.com/podsequence/test/harness/cluster"
)

func TestKubectlGetShowsWhichDeploymentIsActive(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.rolledOut(s.coordination("shop"), "a")
	get := func() *v1.DeploymentCoordination { return cluster.Get(s.Story, &v1.DeploymentCoordination{}, "shop") }
	expectRow := func(what string, want map[string]string) {
		s.Helper()
		cluster.Eventually(s, "the row of shop, "+what, func() error {
			row := s.Row(get()).Cells
			delete(row, "Name")
			delete(row, "Age")
			if diff := cmp.Diff(want, row); diff != "" {
				return fmt.Errorf("columns (-want +got):\n%s", diff)
			}
			return nil
		})
	}
	expectRow("rolled out", map[string]string{"Ready": "True", "Progressing": "False", "Degraded": "False", "Message": "1 Deployment rolled out"})
	s.update("a", image("2", "never"))
	expectRow("rolling out", map[string]string{
		"Active": s.Namespace + "/a", "Ready": "False", "Progressing": "True", "Degraded": "False",
		"Message": "1 of 1 Deployment still to roll out: " + s.Namespace + "/a",
	})

	row := s.Row(get())
	assert.Equal(t, []string{"Name", "Active", "Ready", "Progressing", "Age"}, row.Header)
	assert.Equal(t, []string{"Degraded", "Message"}, row.Wide)
}
