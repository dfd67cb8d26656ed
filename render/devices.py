"""Vulkan's devices and whether a window can open, asked in a child process: `python -m render.devices` prints them as JSON.

A broken Vulkan driver or display library can end the process that asks, so `doctor` asks from a safe distance.
"""

import ctypes
import ctypes.util
import json
import sys
from pathlib import Path
from typing import Any, TypedDict

TYPES = ("other", "integrated GPU", "discrete GPU", "virtual GPU", "CPU (software)")  # VkPhysicalDeviceType
INSTANCE_INFO, APPLICATION_INFO = 1, 0  # VkStructureType
ENUMERATE_PORTABILITY = 1  # VkInstanceCreateFlagBits: MoltenVK hides itself without it
PROPERTIES_BYTES = 4096  # more than VkPhysicalDeviceProperties (824), whose head alone is read
NAME = slice(20, 20 + 256)  # deviceName, after five 32-bit words


class Device(TypedDict):
    """One Vulkan device: its name, what it is, and the version of Vulkan that it speaks."""

    name: str
    type: str
    vulkan: str


class _ApplicationInfo(ctypes.Structure):
    _fields_ = (
        ("type", ctypes.c_uint32),
        ("next", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("version", ctypes.c_uint32),
        ("engine", ctypes.c_char_p),
        ("engine_version", ctypes.c_uint32),
        ("api", ctypes.c_uint32),
    )


class _InstanceInfo(ctypes.Structure):
    _fields_ = (
        ("type", ctypes.c_uint32),
        ("next", ctypes.c_void_p),
        ("flags", ctypes.c_uint32),
        ("application", ctypes.POINTER(_ApplicationInfo)),
        ("layer_count", ctypes.c_uint32),
        ("layers", ctypes.c_void_p),
        ("extension_count", ctypes.c_uint32),
        ("extensions", ctypes.POINTER(ctypes.c_char_p)),
    )


def devices() -> list[Device]:
    """Every Vulkan device. Raises OSError when there is no Vulkan library or it finds no driver."""
    vulkan = _library()
    instance = _instance(vulkan)
    try:
        count = ctypes.c_uint32(0)
        _succeeds(vulkan.vkEnumeratePhysicalDevices(instance, ctypes.byref(count), None))
        handles = (ctypes.c_void_p * count.value)()
        _succeeds(vulkan.vkEnumeratePhysicalDevices(instance, ctypes.byref(count), handles))
        return [_describe(vulkan, handle) for handle in handles if handle]
    finally:
        vulkan.vkDestroyInstance(instance, None)


def _library() -> Any:
    if sys.platform == "win32":
        return ctypes.CDLL("vulkan-1.dll")
    if sys.platform == "darwin":
        return ctypes.CDLL(ctypes.util.find_library("vulkan") or str(_molten_vk()))
    return ctypes.CDLL("libvulkan.so.1")


def _molten_vk() -> Path:
    """Vulkan on macOS, as Taichi brings it along."""
    import taichi

    return Path(taichi.__file__).parent / "_lib" / "runtime" / "libMoltenVK.dylib"


def _instance(vulkan: Any) -> ctypes.c_void_p:
    application = _ApplicationInfo(type=APPLICATION_INFO, name=b"phisphere", api=1 << 22)  # Vulkan 1.0
    info = _InstanceInfo(type=INSTANCE_INFO, application=ctypes.pointer(application))
    if sys.platform == "darwin":
        info.flags = ENUMERATE_PORTABILITY
        info.extension_count = 1
        info.extensions = (ctypes.c_char_p * 1)(b"VK_KHR_portability_enumeration")
    instance = ctypes.c_void_p()
    _succeeds(vulkan.vkCreateInstance(ctypes.byref(info), None, ctypes.byref(instance)))
    return instance


def _describe(vulkan: Any, handle: int) -> Device:
    properties = ctypes.create_string_buffer(PROPERTIES_BYTES)
    vulkan.vkGetPhysicalDeviceProperties(ctypes.c_void_p(handle), properties)
    words = ctypes.cast(properties, ctypes.POINTER(ctypes.c_uint32))
    version, kind = words[0], words[4]
    return Device(
        name=properties.raw[NAME].split(b"\0")[0].decode("utf-8", errors="replace"),
        type=TYPES[kind] if kind < len(TYPES) else TYPES[0],
        vulkan=f"{version >> 22 & 127}.{version >> 12 & 1023}.{version & 4095}",
    )


def _succeeds(result: int) -> None:
    """VkResult: 0 is success, 5 an answer cut short; everything negative is an error (-9: no compatible driver)."""
    if result < 0:
        raise OSError("no driver" if result == -9 else f"Vulkan error {result}")


def _window() -> str | None:
    """Why no window can open, or None."""
    from render.live_window import require_window
    from scenes.errors import UserError
    from sim import runtime

    runtime.start("cpu")
    try:
        require_window()
    except UserError as error:
        return str(error)
    return None


def main(question: str) -> None:
    """Print the answer to "vulkan" ({"devices": [...], "problem": null}) or "window" ({"problem": null})."""
    answer: dict[str, Any] = {"problem": None}
    if question == "window":
        answer["problem"] = _window()
    else:
        answer["devices"] = []
        try:
            answer["devices"] = devices()
        except OSError as error:
            answer["problem"] = f"{error}"
    print(json.dumps(answer))


if __name__ == "__main__":
    main(sys.argv[1])
