package stages

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

func TestNodesReportSeveralTimesWithinTheirGracePeriod(t *testing.T) {
	tests := map[string]struct {
		gracePeriod, wantInterval, wantJitter time.Duration
	}{
		"that of tests":                 {20 * time.Minute, 240 * time.Second, 288 * time.Second},
		"an hour, the longest interval": {time.Hour, 270 * time.Second, 330 * time.Second},
		"that of clusters":              {50 * time.Second, 10 * time.Second, 12 * time.Second},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			documents, err := Documents(tt.gracePeriod)
			require.NoError(t, err)
			found := false
			for _, document := range documents {
				if !strings.Contains(document, "name: node-heartbeat") {
					continue
				}
				found = true
				var stage struct {
					Spec struct {
						Delay struct {
							DurationMilliseconds, JitterDurationMilliseconds int64
						}
					}
				}
				require.NoError(t, yaml.Unmarshal([]byte(document), &stage))
				assert.Equal(t, tt.wantInterval.Milliseconds(), stage.Spec.Delay.DurationMilliseconds)
				assert.Equal(t, tt.wantJitter.Milliseconds(), stage.Spec.Delay.JitterDurationMilliseconds)
			}
			assert.True(t, found, "there is such a stage")
		})
	}
}
