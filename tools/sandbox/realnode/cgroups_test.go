package realnode

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestHierarchiesAreFoundAmongMounts(t *testing.T) {
	tests := map[string]struct {
		mounts      string
		want        []Hierarchy
		wantUnified bool
	}{
		"version 2": {
			mounts: `22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
35 24 0:30 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot
`,
			want:        []Hierarchy{{Mount: "/sys/fs/cgroup", V2: true}},
			wantUnified: true,
		},
		"version 1, and one of version 2 without controllers": {
			mounts: `30 24 0:26 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
31 30 0:27 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
32 30 0:28 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,xattr,release_agent=/lib/agent,name=systemd
33 30 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
`,
			want: []Hierarchy{
				{Mount: "/sys/fs/cgroup/unified", V2: true},
				{Mount: "/sys/fs/cgroup/systemd", Options: "name=systemd"},
				{Mount: "/sys/fs/cgroup/cpu,cpuacct", Options: "cpu,cpuacct"},
			},
		},
		"those of a container elsewhere": {
			mounts: "40 24 0:30 / /elsewhere/sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := parseMounts(tt.mounts)
			assert.Equal(t, tt.want, got)
			assert.Equal(t, tt.wantUnified, Unified(got))
		})
	}
}

func TestSandboxesHaveCgroupsOfTheirOwn(t *testing.T) {
	assert.Equal(t, CgroupName("/srv/a"), CgroupName("/srv/a"))
	assert.NotEqual(t, CgroupName("/srv/a"), CgroupName("/srv/b"))
}
