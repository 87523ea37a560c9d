package sequentialjob

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"

	"example.com/podsequence/test/harness/cluster"
)

func TestKubectlGetShowsHowFarASequentialJobIs(t *testing.T) {
	s := newStory(t)
	s.Create(s.steps("etl", 2))
	expectRow := func(want map[string]string) {
		s.Helper()
		cluster.Eventually(s, "the row of etl to be "+want["Status"], func() error {
			row := s.Row(s.get("etl")).Cells
			delete(row, "Name")
			delete(row, "Age")
			if diff := cmp.Diff(want, row); diff != "" {
				return fmt.Errorf("columns (-want +got):\n%s", diff)
			}
			return nil
		})
	}
	s.complete("etl", 0)
	s.awaitRunning("etl", 1)
	expectRow(map[string]string{"Status": "Running", "Step": "2/2", "Message": `step 2/2 "step-1" runs in Job etl-1`})
	s.patchSpec("etl", map[string]any{"suspend": true})
	expectRow(map[string]string{"Status": "Suspended", "Step": "2/2", "Message": `suspended in step 2/2 "step-1"`})

	row := s.Row(s.get("etl"))
	assert.Equal(t, []string{"Name", "Status", "Step", "Age"}, row.Header)
	assert.Equal(t, []string{"Message"}, row.Wide)
}
