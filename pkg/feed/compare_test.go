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
		pods, jobs []string // the versions of the lists of each kind
		fails      int      // so many lists of each kind fail first
		want       bool
	}{
		"versions that never fall are those of one etcd":         {pods: []string{"100", "103"}, jobs: []string{"100", "110"}, want: true},
		"versions may fall among lists made at the same time":    {pods: []string{"103", "110"}, jobs: []string{"100", "110"}, want: true},
		"a version that falls is that of another etcd":           {pods: []string{"100", "100"}, jobs: []string{"7", "7"}},
		"a lower version that comes first is found out as well":  {pods: []string{"7", "7"}, jobs: []string{"100", "100"}},
		"a lower version that rises is found out while it lower": {pods: []string{"7", "99"}, jobs: []string{"100", "120"}},
		"a list that fails is made again":                        {pods: []string{"100", "103"}, jobs: []string{"100", "110"}, fails: 3, want: true},
	}
	const takes = time.Second // each list
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &Feed{engine: sequence.NewEngine(sequence.Config{})}
				proven := 0
				f.versions = newVersions(func(string, string, string) { proven++ })
				kind := func(resource string, versions []string) comparedKind {
					lists := 0
					return comparedKind{resource, func(context.Context) (string, error) {
						time.Sleep(takes)
						if lists++; lists <= tt.fails {
							return "", errors.New("the server is down")
						}
						return versions[lists-tt.fails-1], nil
					}}
				}
				f.compared = []comparedKind{kind("jobs", tt.jobs)}
				assert.False(t, f.versions.comparable(), "nobody has looked yet")
				begin := time.Now()
				f.compareVersions(t.Context(), kind("pods", tt.pods))
				assert.Equal(t, tt.want, f.versions.comparable())
				assert.Equal(t, !tt.want, f.versions.isSplit())
				if tt.fails == 0 {
					assert.Equal(t, 2*takes, time.Since(begin), "no kind waits for another")
				} else {
					assert.Greater(t, time.Since(begin), 2*takes+time.Second)
					assert.Contains(t, f.Why(), "cannot be listed: the server is down")
				}
				if !tt.want {
					assert.Equal(t, 1, proven)
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
