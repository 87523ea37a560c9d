package feed

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"example.com/podsequence/pkg/sequence"
)

func TestWhetherVersionsCanBeCompared(t *testing.T) {
	tests := map[string]struct {
		versions []string // of the lists of two kinds, in turn
		fails    int      // so many lists fail first
		want     bool
	}{
		"versions that never fall are those of one etcd":        {versions: []string{"100", "100", "103", "110"}, want: true},
		"a version that falls is that of another etcd":          {versions: []string{"100", "7"}},
		"a lower version that comes first is found out as well": {versions: []string{"7", "100", "7"}},
		"a list that fails is made again":                       {versions: []string{"100", "100", "103", "110"}, fails: 3, want: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &Feed{engine: sequence.NewEngine(sequence.Config{})}
				proven, lists := 0, 0
				f.versions = newVersions(func(string, string, string) { proven++ })
				version := func(context.Context) (string, error) {
					if lists++; lists <= tt.fails {
						return "", errors.New("the server is down")
					}
					return tt.versions[lists-tt.fails-1], nil
				}
				f.compared = []comparedKind{{"jobs", version}}
				assert.False(t, f.versions.comparable(), "nobody has looked yet")
				begin := time.Now()
				f.compareVersions(t.Context(), comparedKind{"pods", version})
				assert.Equal(t, tt.want, f.versions.comparable())
				assert.Equal(t, !tt.want, f.versions.isSplit())
				assert.Equal(t, len(tt.versions)+tt.fails, lists)
				if tt.fails > 0 {
					assert.Greater(t, time.Since(begin), time.Second)
					assert.Contains(t, f.Why(), "pods cannot be listed: the server is down")
				}
			})
		})
	}
}

func TestWhatIsProvenOnceStaysSo(t *testing.T) {
	proven := 0
	v := newVersions(func(string, string, string) { proven++ })
	v.compare()
	assert.True(t, v.comparable())
	v.enter("100")
	v.listed("jobs", "100", "100")
	assert.True(t, v.comparable())
	v.listed("jobs", "99", "99")
	assert.True(t, v.comparable(), "nothing newer had been seen before the list began")
	v.listed("jobs", "99", "100")
	assert.False(t, v.comparable())
	v.listed("jobs", "98", "100")
	v.compare()
	assert.False(t, v.comparable())
	assert.Equal(t, 1, proven)
}
