package sequence

import (
	"maps"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/types"
)

func TestThePodTableGivesBackRoomAndLosesNothing(t *testing.T) {
	table, want := &podTable{}, map[types.NamespacedName]*publishedPod{}
	key := func(i int) types.NamespacedName {
		return types.NamespacedName{Namespace: "shop", Name: strconv.Itoa(i)}
	}
	const count, left = 10_000, 100
	for i := range count {
		pod := &publishedPod{}
		table.store(key(i), pod)
		if i < left {
			want[key(i)] = pod
		}
	}
	for i := left; i < count; i++ {
		table.delete(key(i))
	}
	assert.Equal(t, want, maps.Collect(table.all()))
	assert.Nil(t, table.load(key(left)))
	room := 0
	for i := range table.parts {
		room += table.parts[i].most
	}
	assert.Less(t, room, 5*left+len(table.parts)*4, "room for pods that are gone")
}
