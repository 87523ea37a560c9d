package sequentialjob

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/util/validation"
)

func TestNamesOfJobs(t *testing.T) {
	long := strings.Repeat("a", 253)
	for name, tc := range map[string]struct {
		object string
		want   string // of step 63; only its beginning if it ends in "..."
	}{
		"short":                           {"etl", "etl-63"},
		"with dots":                       {"etl.example.com", "etl.example.com-63"},
		"as long as fits":                 {long[:59], long[:59] + "-63"},
		"a character too long":            {long[:60], long[:43] + "-..."},
		"as long as can be":               {long, long[:43] + "-..."},
		"with a dot where it is cut":      {long[:42] + "." + long[:20], long[:42] + "--..."},
		"with a dash where it is cut":     {long[:42] + "-" + long[:20], long[:42] + "--..."},
		"that looks like a Job's already": {"etl-0", "etl-0-63"},
	} {
		t.Run(name, func(t *testing.T) {
			job := jobName(tc.object, 63)
			if begin, cut := strings.CutSuffix(tc.want, "..."); cut {
				assert.Equal(t, begin, job[:len(begin)])
				assert.Len(t, job, 63)
			} else {
				assert.Equal(t, tc.want, job)
			}
			assert.Empty(t, validation.IsDNS1123Subdomain(job))
			assert.Empty(t, validation.IsValidLabelValue(job))
			assert.Empty(t, validation.IsValidLabelValue(baseName(tc.object)))

			base, index, ok := cutJobName(job)
			assert.True(t, ok)
			assert.Equal(t, baseName(tc.object), base)
			assert.Equal(t, int32(63), index)
		})
	}
}

func TestNoTwoObjectsShareTheNameOfAJob(t *testing.T) {
	long := strings.Repeat("a", 60)
	objects := []string{
		"etl", "etl-1", "etl-1-0", long + "x", long + "y", long + ".x", long,
		baseName(long + "x"), // an object may have the very name that another's is cut to
	}
	owners := map[string]string{}
	for _, object := range objects {
		for index := range int32(64) {
			job := jobName(object, index)
			assert.Empty(t, owners[job], "%s is a Job of %s too", job, object)
			owners[job] = object
		}
	}
}

func TestNamesThatNoJobOfOursCanHave(t *testing.T) {
	for _, name := range []string{"etl", "etl-", "-1", "etl-64", "etl-01", "etl-+1", "nightly-29123456", strings.Repeat("a", 61) + "-1"} {
		_, _, ok := cutJobName(name)
		assert.False(t, ok, name)
	}
}
