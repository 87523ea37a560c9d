package podgroup

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestAPodIsNotWrittenToTwiceWhileTheCacheIsBehind(t *testing.T) {
	at := func(version string) []*corev1.Pod {
		return []*corev1.Pod{pod("a", func(p *corev1.Pod) { p.ResourceVersion = version })}
	}
	m := &memory{written: map[types.UID]string{"a": "20"}}
	assert.Empty(t, m.unwritten(at("10")), "the cache has it as it was before")
	assert.Empty(t, m.unwritten(at("19")))
	assert.Len(t, m.unwritten(at("20")), 1, "the cache has it as it was written: somebody has taken the label off")
	assert.Len(t, m.unwritten(at("19")), 1, "that is forgotten then")
}
