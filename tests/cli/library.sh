# The installed library as other programs link it: its symbols, pkg-config, CMake, C++, and the
# device of examples/, whose answers are those of mete eval.
. tests/cli/lib.sh
build=$(cd "$(dirname "$METE")" && pwd)
examples=$(pwd)/examples
if [ ! -e "$build/libmete.so" ]; then
    skip "this build has no library for other programs"
    finish
fi
ok "the library installs" cmake --install "$build" --prefix "$tmp/prefix"
export PKG_CONFIG_PATH LD_LIBRARY_PATH
PKG_CONFIG_PATH=$(dirname "$(find "$tmp/prefix" -name mete.pc)")
LD_LIBRARY_PATH=$(dirname "$PKG_CONFIG_PATH")
flags() { pkg-config "$@" mete; }

symbols() { nm "$@" | awk 'NF >= 3 {print $NF}' | grep -v '^mete_'; }
same "what libmete.so exports begins with mete_" "" "$(symbols -D --defined-only "$LD_LIBRARY_PATH/libmete.so")"
same "what libmete.a exports begins with mete_" "" "$(symbols -g --defined-only "$LD_LIBRARY_PATH/libmete.a")"
ok "the library names its version" sh -c "readelf -d '$LD_LIBRARY_PATH/libmete.so' | grep -q 'soname: \[libmete.so.0.1\]'"

# shellcheck disable=SC2046
ok "a program links with pkg-config" cc -Wall -Wextra -Werror "$examples/device/device.c" $(flags --cflags --libs) -o "$tmp/device"
# As on a machine with the archive alone, and without the archives of what it needs.
mkdir -p "$tmp/archive/lib/pkgconfig"
ln -s "$tmp/prefix/include" "$tmp/archive/include"
cp "$LD_LIBRARY_PATH/libmete.a" "$tmp/archive/lib"
cp "$PKG_CONFIG_PATH/mete.pc" "$tmp/archive/lib/pkgconfig"
# shellcheck disable=SC2046
ok "and with the archive alone" cc "$examples/device/device.c" \
    $(PKG_CONFIG_PATH=$tmp/archive/lib/pkgconfig pkg-config --static --cflags --libs mete) -o "$tmp/archived"
same "which needs no libmete.so" "" "$(readelf -d "$tmp/archived" | grep libmete)"
for header in mete.h mete_learner.h mete_personal.h mete_plan.h mete_ranks.h mete_theory.h; do
    echo "#include <$header>"
done >"$tmp/all.cc"
echo 'int main() { return mete_version() == nullptr; }' >>"$tmp/all.cc"
if command -v c++ >/dev/null; then
    # shellcheck disable=SC2046
    ok "C++ includes the headers" c++ -std=c++11 -Wall -Wextra -Wpedantic -Werror "$tmp/all.cc" $(flags --cflags --libs) -o "$tmp/all"
    ok "and runs" "$tmp/all"
else
    skip "no C++ compiler"
fi
# An application's own `fail`, `train` and `progress` stay its own.
cat >"$tmp/own.c" <<'END'
#include <mete.h>
int fail(int code) { return code + 1; }
int train(void) { return 0; }
void progress(void) {}
int main(void)
{
    struct mete_model *m = 0;
    return !(mete_model_load(&m, "/nowhere", 0) < 0 && !m && fail(train()) == 1);
}
END
mkdir -p "$tmp/own"
cat >"$tmp/own/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.22)
project(own C)
find_package(mete 0.1 REQUIRED)
add_executable(shared ../own.c)
target_link_libraries(shared mete::mete)
add_executable(static ../own.c)
target_link_libraries(static mete::static)
END
ok "CMake finds the package" cmake -S "$tmp/own" -B "$tmp/own/build" -DCMAKE_PREFIX_PATH="$tmp/prefix"
ok "and links with it" cmake --build "$tmp/own/build"
for kind in shared static; do
    ok "names of the program stay its own, $kind" "$tmp/own/build/$kind"
done

python=
for p in python3 /usr/bin/python3; do
    "$p" -c 'import numpy' 2>/dev/null && python=$p && break
done
if [ -z "$python" ]; then
    skip "NumPy is not installed (python3-numpy)"
    finish
fi
export METE_DATA=$tmp/data
mkdir -p "$METE_DATA" "$tmp/answers"
ok "pictures are made" "$python" tests/library_tasks.py data "$tmp"
ok "and imported" "$METE" data import arrays "$tmp/x.npy" "$tmp/y.npy" -o "$METE_DATA/pictures"
ok "tasks are drawn" "$METE" tasks pictures:5w-1s --n 10 -o "$tmp/tasks.json" --set data.split=6/6/6
ok "their images are written" "$python" tests/library_tasks.py images "$tmp" "$tmp/tasks.json" "$tmp/answers"
answers() { # PROGRAM METHOD: what it says of each task
    local i
    for i in 0 1 2 3 4 5 6 7 8 9; do
        "$1" "$tmp/$2/best.safetensors" "$tmp/answers/$i.raw" 5 >"$tmp/answers/$i.txt" || return
    done
}
for method in protonet maml; do
    rate=
    [ $method = maml ] && rate="--set inner.lr=0.001"
    # shellcheck disable=SC2086
    ok "$method is trained" "$METE" train pictures:5w-1s@300 --method $method --threads 1 -o "$tmp/$method" \
        --set data.split=6/6/6 --set train.steps=4 $rate --set train.meta_batch=4 --set train.val_tasks=4 --set test.tasks=4
    ok "$method adapts and predicts on the device" answers "$tmp/device" $method
    "$METE" eval "$tmp/$method/best.safetensors" --tasks "$tmp/tasks.json" --set net.bn=running --json >"$tmp/eval.json"
    ok "$method: as mete eval" "$python" tests/library_tasks.py compare "$tmp/tasks.json" "$tmp/answers" "$tmp/eval.json"
done
refuses "a file that is no model" 1 "device: $tmp/x.npy: " "$tmp/device" "$tmp/x.npy" "$tmp/answers/0.raw" 5
if command -v valgrind >/dev/null; then
    ok "valgrind finds nothing" valgrind -q --leak-check=full --error-exitcode=9 "$tmp/device" \
        "$tmp/maml/best.safetensors" "$tmp/answers/0.raw" 5
else
    skip "no valgrind"
fi

# The core alone, with its archive: what a small machine would run.
if [ -e build-core/libmete.a ]; then
    ok "the device links the core's archive" cc -O2 -Iinclude "$examples/device/device.c" build-core/libmete.a \
        -Wl,--gc-sections -pthread -lm -s -o "$tmp/static"
    if [ "$(stat -c %s "$tmp/static")" -lt 1000000 ]; then pass; else bad "the device is below 1 MB" "$(ls -l "$tmp/static")"; fi
    ok "and answers" answers "$tmp/static" maml
    ok "the same" "$python" tests/library_tasks.py compare "$tmp/tasks.json" "$tmp/answers" "$tmp/eval.json"
else
    skip "no build-core/libmete.a (cmake --preset core)"
fi
finish
